/** A number that a workspace sends from: a linked WhatsApp phone or a Telegram account. */
import type { NumberId, WorkspaceId } from "../Ids.ts"
import type { Mode } from "../workspace/Workspace.ts"

export const platforms = ["whatsapp", "telegram"] as const

export type Platform = (typeof platforms)[number]

export const numberStatuses = ["connected", "connecting", "disconnected"] as const

export type NumberStatus = (typeof numberStatuses)[number]

/** Why a number is not connected, or sends nothing although it is. */
export const connectionReasons = [
  "logged_out",
  "replaced",
  "banned",
  "restricted",
  "client_outdated",
  "passkey_required",
  "link_expired",
  "connection_lost",
  "not_linked",
  "paused",
  "account_disabled",
] as const

export type ConnectionReason = (typeof connectionReasons)[number]

export const loginMethods = ["qr", "phone_code"] as const

export type LoginMethod = (typeof loginMethods)[number]

export interface SendingNumber {
  readonly id: NumberId
  readonly workspaceId: WorkspaceId
  /** A test number was added by a test key: no phone is behind it, and only test keys see it. */
  readonly mode: Mode
  /** Digits with country code, no `+`; null until a QR code was scanned. */
  readonly phone: string | null
  readonly label: string
  readonly platform: Platform
  readonly status: NumberStatus
  readonly loginMethod: LoginMethod
  readonly createdAt: number
}

/** What a caller is shown of it. */
export type ShownNumber = Omit<SendingNumber, "workspaceId" | "mode" | "createdAt">

/**
 * The modes of the numbers that keys of a mode see: both share what is live (contract: Test mode).
 */
export const modesSeenBy = (mode: Mode): ReadonlyArray<Mode> =>
  mode === "test" ? ["live", "test"] : ["live"]

/** Whether keys of that mode see the number. */
export const isSeenBy = (mode: Mode, number: Pick<SendingNumber, "mode">): boolean =>
  modesSeenBy(mode).includes(number.mode)

/** What tells numbers apart. */
type Identity = Pick<SendingNumber, "mode" | "phone" | "platform">

/** Whether both are the same phone or account, in the same mode. */
export const isSameNumber = (one: Identity, other: Identity): boolean =>
  one.phone === other.phone && one.platform === other.platform && one.mode === other.mode
