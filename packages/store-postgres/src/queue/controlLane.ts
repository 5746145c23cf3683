/** The pauses and the pacing of a lane: what operators set, and what a new session of its number ends. */
import type { LaneQueue, NumberId, Pacing, Pause } from "@messaging-service/core"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, boolean, instant, integers, text } from "../database/Fields.ts"
import { call, single, sqlFunction } from "../database/Statement.ts"
import { fromPacing } from "./lane.ts"

export interface Control {
  readonly numberId: NumberId
  readonly now: number
  readonly resume?: boolean
  /** The number has a new session. */
  readonly linked?: boolean
  readonly pause?: Pause
  readonly pacing?: Pacing
}

const parameters = single({
  p_number: bigint((control: Control) => control.numberId),
  p_now: instant((control: Control) => control.now),
  p_resume: boolean((control: Control) => control.resume ?? false),
  p_linked: boolean((control: Control) => control.linked ?? false),
  p_pause_reason: text((control: Control) => control.pause?.reason ?? null),
  // Null in a pause that only an operator ends.
  p_pause_until: instant((control: Control) => control.pause?.until ?? null),
  p_pacing: integers((control: Control) =>
    control.pacing === undefined ? null : fromPacing(control.pacing),
  ),
})

export const control = call("lane.control", sqlFunction("control_lane", parameters))

export const pauseLane =
  (database: DatabaseService): (typeof LaneQueue.Service)["pause"] =>
  (numberId, pause, now) =>
    control.holds(database, { numberId, pause, now })

export const resumeLane =
  (database: DatabaseService): (typeof LaneQueue.Service)["resume"] =>
  (numberId, now) =>
    control.holds(database, { numberId, now, resume: true })
