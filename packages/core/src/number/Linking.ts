/**
 * Linking a number to a phone, the way a web client is linked: an attempt shows a QR code or a
 * pairing code, each replaced by a fresh one in time, until the phone has taken it or ten minutes are
 * over (contract: Number status). One attempt at most for each number.
 */
import type { LinkingId, NumberId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"
import { formatInstant } from "../time/Instant.ts"
import type { LoginMethod, SendingNumber } from "./SendingNumber.ts"

/** How long an attempt lasts; then the number is disconnected again (contract: Limits). */
export const linkingMillis = 10 * 60 * 1000

/** When a test number links itself (decisions: test mode). */
export const testLinkingMillis = 5000

/** How long a pairing code can be typed (contract: Limits). */
export const pairingCodeMillis = 3 * 60 * 1000

export interface PairingCode {
  /** 8 characters. */
  readonly code: string
  readonly expiresAt: number
}

/** What there is to be seen of an attempt, replaced as a whole. */
export interface LinkingView {
  /** What the QR code says at present; null until there is one. */
  readonly qrText: string | null
  readonly pairingCode: PairingCode | null
  /** The phone has taken the code, and linking finishes. */
  readonly linking: boolean
}

export interface LinkingAttempt extends LinkingView {
  readonly id: LinkingId
  readonly numberId: NumberId
  /** The number's. */
  readonly mode: Mode
  readonly method: LoginMethod
  /** The phone on which the pairing code is typed, digits with country code; null with a QR code. */
  readonly phone: string | null
  readonly requestedAt: number
  readonly endsAt: number
  /** When it links by itself; null unless it is a test number's. */
  readonly linksAt: number | null
}

export const nothingShown: LinkingView = { qrText: null, pairingCode: null, linking: false }

/** Makes a link to the QR image of an attempt, a fresh one with each call. */
export type QrLink = (attempt: LinkingAttempt, now: number) => string

/** The Connect object of a connecting number; `attempt` is null when its attempt has just ended. */
export const connectJson = (attempt: LinkingAttempt | null, now: number, qrLink: QrLink) => {
  const pairing = attempt?.pairingCode ?? null
  const valid = pairing !== null && pairing.expiresAt > now ? pairing : null
  return {
    qr_code_url: attempt === null || attempt.qrText === null ? null : qrLink(attempt, now),
    pairing_code: valid === null ? null : valid.code,
    pairing_code_expires_at: valid === null ? null : formatInstant(valid.expiresAt),
    linking: attempt !== null && attempt.linking,
    requested_at: attempt === null ? null : formatInstant(attempt.requestedAt),
  }
}

export type ConnectJson = ReturnType<typeof connectJson>

/** A Number as lists show it: `connect` is filled only by GET of a single connecting one. */
export const numberJson = (number: SendingNumber, connect: ConnectJson | null = null) => ({
  id: number.id,
  phone: number.phone,
  label: number.label,
  platform: number.platform,
  status: number.status,
  login_method: number.loginMethod,
  connect,
})

export type NumberJson = ReturnType<typeof numberJson>
