/** How a number's connection to the far side stands, and why (contract: Connection of a number). */
import type { NumberId } from "../id/Ids.ts"

/** `waiting`: between two tries to connect. */
export const connectionStates = ["connected", "connecting", "waiting", "disconnected"] as const

export type ConnectionState = (typeof connectionStates)[number]

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
] as const

export type ConnectionReason = (typeof connectionReasons)[number]

/** What a process knows of a connection that it keeps. */
export interface ConnectionReport {
  readonly numberId: NumberId
  readonly state: ConnectionState
  readonly reason: ConnectionReason | null
  /** Since when it is in that state. */
  readonly since: number
  /** The last word of the far side; null when there was none. */
  readonly lastSeenAt: number | null
  /** How often it was opened again. */
  readonly reconnects: number
}
