/**
 * Linking a number to a phone, the way a web client is linked: an attempt shows a QR code or a
 * pairing code, each replaced by a fresh one in time, until the phone has taken it or ten minutes are
 * over (contract: Number status). One attempt at most for each number.
 */
import { Schema } from "effect"
import { TimeJson } from "../answer/Json.ts"
import type { Ids, LinkingId, NumberId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"
import { described } from "../request/Described.ts"
import { formatInstant } from "../time/Instant.ts"
import { loginMethods, numberStatuses, platforms } from "./SendingNumber.ts"
import type { LoginMethod, SendingNumber } from "./SendingNumber.ts"

/** How long an attempt lasts; then the number is disconnected again (contract: Limits). */
export const linkingMillis = 10 * 60 * 1000

/** How long an attempt stays held after its holder died, in service time. */
export const linkingLeaseMillis = 30_000

/** When a test number links itself (contract: Test mode). */
export const testLinkingMillis = 5000

/**
 * A phone for a number behind which there is none, such as a test number: digits with country code,
 * in a range that is kept free for fiction.
 */
export const madeUpPhone = (ids: typeof Ids.Service): string =>
  `1555${String(Number.parseInt(ids.hex(8), 16) % 10_000_000).padStart(7, "0")}`

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
  /**
   * The phone that the number had before it took over that of the pairing code, and has again when
   * this comes to nothing; null when the number's phone stayed as it was.
   */
  readonly replaced: { readonly phone: string | null } | null
  readonly requestedAt: number
  readonly endsAt: number
  /** When it links by itself; null unless it is a test number's. */
  readonly linksAt: number | null
}

export const nothingShown: LinkingView = { qrText: null, pairingCode: null, linking: false }

/** Makes a link to the QR image of an attempt, a fresh one with each call. */
export type QrLink = (attempt: LinkingAttempt, now: number) => string

/** The Connect object (contract: Numbers). */
export const ConnectJson = Schema.Struct({
  qr_code_url: described(
    Schema.NullOr(Schema.String),
    "Link to the QR image, valid 10 minutes; a fresh one with each call.",
  ),
  pairing_code: described(
    Schema.NullOr(Schema.String),
    "Code of 8 characters to type on the phone; null until it is ready.",
  ),
  pairing_code_expires_at: Schema.NullOr(TimeJson),
  linking: described(Schema.Boolean, "True after the scan or code entry while linking finishes."),
  requested_at: Schema.NullOr(TimeJson),
}).annotate({ identifier: "Connect" })

export type ConnectJson = typeof ConnectJson.Type

/** The pairing code that can be typed at `now`: at the end of its attempt a code ends too. */
const validPairingCode = (
  { endsAt, pairingCode }: LinkingAttempt,
  now: number,
): PairingCode | null => {
  if (pairingCode === null) return null
  const expiresAt = Math.min(pairingCode.expiresAt, endsAt)
  return expiresAt > now ? { code: pairingCode.code, expiresAt } : null
}

/** The Connect object of a connecting number; `attempt` is null when its attempt has just ended. */
export const connectJson = (
  attempt: LinkingAttempt | null,
  now: number,
  qrLink: QrLink,
): ConnectJson => {
  const valid = attempt === null ? null : validPairingCode(attempt, now)
  return {
    qr_code_url: attempt === null || attempt.qrText === null ? null : qrLink(attempt, now),
    pairing_code: valid === null ? null : valid.code,
    pairing_code_expires_at: valid === null ? null : formatInstant(valid.expiresAt),
    linking: attempt !== null && attempt.linking,
    requested_at: attempt === null ? null : formatInstant(attempt.requestedAt),
  }
}

/** The Number object (contract: Numbers). */
export const NumberJson = Schema.Struct({
  id: described(Schema.Int.pipe(Schema.brand("NumberId")), "The `from` of messages and reminders."),
  phone: described(
    Schema.NullOr(Schema.String),
    "Digits with country code, no +; null until the QR code is scanned.",
  ),
  label: Schema.String,
  platform: Schema.Literals(platforms),
  status: Schema.Literals(numberStatuses),
  login_method: Schema.Literals(loginMethods),
  connect: described(
    Schema.NullOr(ConnectJson),
    "Filled only while `status` is `connecting`, and only by GET of a single number.",
  ),
}).annotate({ identifier: "Number" })

export type NumberJson = typeof NumberJson.Type

/** A Number as lists show it: `connect` is filled only by GET of a single connecting one. */
export const numberJson = (
  number: SendingNumber,
  connect: ConnectJson | null = null,
): NumberJson => ({
  id: number.id,
  phone: number.phone,
  label: number.label,
  platform: number.platform,
  status: number.status,
  login_method: number.loginMethod,
  connect,
})
