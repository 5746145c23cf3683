/** The pauses and the pacing of a lane: what operators set, and what a new session of its number ends. */
import { givenUpReasons, reasonOnceResumed } from "@messaging-service/core"
import type { LaneQueue, NumberId, Pacing, Pause } from "@messaging-service/core"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, boolean, instant, integers, text } from "../database/Fields.ts"
import { call, literals, single, sqlFunction } from "../database/Statement.ts"
import {
  endOwnPauses,
  firstToLeave,
  fromPacing,
  lockLanes,
  nextDueAfter,
  holdsUntil,
  recipientName,
  setPauses,
  stoppedUntil,
  unpaused,
} from "./lane.ts"

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

/**
 * False when the number is unknown or removed. When new recipients begin to be limited, whom the number
 * has written to until now is looked up once.
 *
 * Locks: the lane, then its number; only a later statement looks at its messages.
 */
export const controlLane = sqlFunction("control_lane", parameters, "boolean")`
  begin
    ${lockLanes("array[p_number]")}

    if p_pacing is not null and p_pacing[5] is null then
      delete from lane_recipients r
      where r.number_id = p_number;
    elsif p_pacing is not null then
      -- Index messages_sent.
      insert into lane_recipients (number_id, recipient, first_sent_at)
      select m.number_id, ${recipientName("m")}, min(m.sent_at)
      from messages m
      join lanes l on l.number_id = m.number_id
      where m.number_id = p_number
        and m.mode = 'live'
        and m.sent_at is not null
        and l.pacing[5] is null
      group by 1, 2
      on conflict (number_id, recipient) do nothing;
    end if;

    if p_pause_reason is not null then
      update lanes l
      set ${setPauses("l", "p_pause_reason", "p_pause_until")}
      where l.number_id = p_number
        and l.removed_at is null;
    elsif p_resume then
      update lanes l
      set ${unpaused}
      where l.number_id = p_number;

      update numbers n
      set status_reason = '${reasonOnceResumed}'
      where n.id = p_number
        and n.status = 'disconnected'
        and n.status_reason in (${literals(givenUpReasons)});
    elsif p_linked then
      update lanes l
      set ${endOwnPauses("l")}
      where l.number_id = p_number;
    end if;

    update lanes l
    set pacing = coalesce(p_pacing, l.pacing),
      limited_until = null,
      next_due = ${nextDueAfter.changed(
        "l",
        holdsUntil("l", stoppedUntil("l")),
        firstToLeave("due_at", "l", "p_now"),
      )}
    where l.number_id = p_number
      and l.removed_at is null;
    return found;
  end`

export const control = call("lane.control", controlLane)

export const pauseLane =
  (database: DatabaseService): (typeof LaneQueue.Service)["pause"] =>
  (numberId, pause, now) =>
    control.holds(database, { numberId, pause, now })

export const resumeLane =
  (database: DatabaseService): (typeof LaneQueue.Service)["resume"] =>
  (numberId, now) =>
    control.holds(database, { numberId, now, resume: true })
