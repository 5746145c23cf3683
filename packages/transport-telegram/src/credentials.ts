/**
 * What the vault keeps of a number beside its keys: whose account it is, or how far a login has come.
 * Codes and passwords are in neither.
 */
import type { KeyChange, TelegramLoginView } from "@messaging-service/core/ports"

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
  readonly view: TelegramLoginView
  readonly method: "qr" | "code"
  /** Null with a QR code. */
  readonly phone: string | null
  /** What the far side calls the code that it sent; null before it did. */
  readonly codeHash: string | null
  readonly keys: ReadonlyArray<KeyChange>
}

export type Credentials = AccountCredentials | LoginCredentials

export const toText = (credentials: Credentials): string => JSON.stringify(credentials)
export const fromText = (text: string): Credentials => JSON.parse(text) as Credentials
