/** Callbacks as the world holds them. */
import type { Callback } from "@messaging-service/core"
import type { Sorted } from "./Sorted.ts"

export interface CallbackRow {
  readonly id: number
  readonly callback: Callback
  readonly target: CallbackTarget
  dueAt: number
  /** The attempts that failed. */
  attempts: number
  /** Of the latest claim; grows with each. */
  lease: number
  leaseUntil: number | null
}

/** What a workspace has in flight, over all its targets. */
export interface CallbackCrowd {
  readonly inFlight: Set<CallbackRow>
  /** Due, with room at their targets but none for the workspace: settlements bring them back. */
  readonly parked: Sorted<CallbackRow>
}

/** Whom callbacks go to, within a workspace. */
export interface CallbackTarget {
  readonly key: string
  readonly crowd: CallbackCrowd
  /** Everything that is to be made. */
  readonly rows: Set<CallbackRow>
  readonly inFlight: Set<CallbackRow>
  /** Due, but there is no room: when a call ends, the next one is taken out of here. */
  readonly parked: Sorted<CallbackRow>
}

/** When something that is not parked can next be claimed. */
export const momentOf = ({ dueAt, leaseUntil }: CallbackRow): number => leaseUntil ?? dueAt

export const byMoment = (a: CallbackRow, b: CallbackRow): number =>
  momentOf(a) - momentOf(b) || a.id - b.id

export const byDue = (a: CallbackRow, b: CallbackRow): number => a.dueAt - b.dueAt || a.id - b.id
