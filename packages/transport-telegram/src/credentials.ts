/**
 * What the vault keeps of a number beside its keys: whose account it is, or how far a login has come.
 * Codes and passwords are in neither.
 */
import type { KeyChange, TelegramLoginView } from "@messaging-service/core"

/** An account that is logged in. */
export interface AccountCredentials {
  readonly kind: "account"
  readonly userId: number
  /** Digits with country code. */
  readonly phone: string
  /** What its login shows for as long as it may be asked for. */
  readonly login: TelegramLoginView | null
}

/** A login that goes on, or came to nothing. */
export interface LoginCredentials {
  readonly kind: "login"
  /** Tells it from the number's other logins. */
  readonly id: string
  readonly view: TelegramLoginView
  readonly method: "qr" | "code"
  /** Null with a QR code. */
  readonly phone: string | null
  /** What the far side calls the code that it sent; null before it did. */
  readonly codeHash: string | null
  readonly keys: ReadonlyArray<KeyChange>
  /** Until when one process alone works on it, and is waited for; null without one. It may have died. */
  readonly stepUntil: number | null
  /** The far side may have let the account in without that being known here. */
  readonly mayBeIn: boolean
  /** It was given up, and stays until what it may have left at the far side is ended. */
  readonly isCancelled: boolean
  /** Tells what was written from all that was written before. */
  readonly writing?: string
}

export type Credentials = AccountCredentials | LoginCredentials

export const toText = (credentials: Credentials): string => JSON.stringify(credentials)

/** What versions before wrote of a login has no word on its steps. */
const ofBefore = { id: "", stepUntil: null, mayBeIn: false, isCancelled: false }

export const fromText = (text: string): Credentials => {
  const kept = JSON.parse(text) as Credentials
  return kept.kind === "login" ? { ...ofBefore, ...kept } : kept
}

const isSettled = ({ state }: TelegramLoginView): boolean =>
  state === "failed" || state === "expired" || state === "connected"

/** How a login stands at that time, whatever became of the process that had it. */
export const viewAt = (
  { codeHash, stepUntil, view }: LoginCredentials,
  now: number,
): TelegramLoginView => {
  if (isSettled(view)) return view
  if (view.expiresAt <= now) return { ...view, state: "expired", qr: null }
  const isUnderWay = stepUntil !== null && stepUntil > now
  if (view.state === "code_sent" && codeHash === null && !isUnderWay) {
    return { ...view, state: "failed", error: "connection_lost" }
  }
  return view.qr !== null && view.qr.expiresAt <= now ? { ...view, qr: null } : view
}

/** Whether another login may take its place. */
export const hasEnded = (login: LoginCredentials, now: number): boolean =>
  login.isCancelled || isSettled(viewAt(login, now))
