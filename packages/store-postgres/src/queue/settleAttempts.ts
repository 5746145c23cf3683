/**
 * Settling attempts: the end of each message or its return to the lane, its event, what it gives
 * back and the lane's next due moment, in one commit.
 *
 * Locks: the lanes by id, then the workspaces that get allowance back, by id, none of them waited for
 * longer than `p_patience` says: each settlement is then tried by itself. When the lane
 * has a newer lease, another worker holds it: that settlement is passed over.
 */
import type { LaneQueue, MessageId, Settlement } from "@messaging-service/core"
import { Effect } from "effect"
import { lockMillis, togetherOrAlone } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, boolean, instant, integer, listed, text, within } from "../database/Fields.ts"
import { call, each, joined, lookedUpBy, part, sqlFunction, taking } from "../database/Statement.ts"
import {
  announce,
  changeColumns,
  endedIds,
  giveBackAllowance,
  returnedReports,
  setEnd,
} from "../message/endMessages.ts"
import type { EndedRow } from "../message/endMessages.ts"
import { anyQueued } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import {
  firstWaiting,
  holdsLease,
  limitsRecipients,
  lockLanes,
  nextDueAfter,
  recipientName,
  setPauses,
  stillWaits,
  stoppedUntil,
  waitsUnless,
} from "./lane.ts"

/** How the message ends; null when it goes on waiting. */
const changeOf = (one: Settlement) => (one._tag === "Ended" ? one.change : null)

const columns = {
  number_id: bigint((one: Settlement) => one.numberId),
  lease: bigint((one: Settlement) => one.lease),
  message_id: bigint((one: Settlement) =>
    one._tag === "Ended" ? one.change.message.id : one.messageId,
  ),
  again: boolean((one: Settlement) => one._tag === "Again"),
  not_before: instant((one: Settlement) => one.notBefore),
  refusals: integer((one: Settlement) => one.breaker?.strikes.refusals ?? null),
  pauses: integer((one: Settlement) => one.breaker?.strikes.pauses ?? null),
  pause_reason: text((one: Settlement) => one.breaker?.pause?.reason ?? null),
  // Null in a pause that only an operator ends.
  pause_until: instant((one: Settlement) => one.breaker?.pause?.until ?? null),
  no_room: integer((one: Settlement) => one.noRoom?.inARow ?? null),
  no_room_until: instant((one: Settlement) => one.noRoom?.until ?? null),
  interrupted: integer((one: Settlement) => (one._tag === "Again" && one.interrupted ? 1 : 0)),
  ...within(changeOf, changeColumns),
}

/**
 * Every array holds one element for each settlement, or none where all are null; returns the settled
 * messages.
 */
export const settleAttempts = sqlFunction(
  "settle_attempts",
  joined(taking({ now: instant, patience: text }), part("settlements", each(columns, "p_"))),
  "table (message_id bigint, queued boolean)",
)`
  declare
    -- Whether deliveries were queued.
    v_queued boolean;
    -- The places of the settlements whose lease still holds.
    v_held integer[];
    -- Whether any of their lanes has its new recipients limited by now.
    v_limits boolean;
    v_given_back bigint[];
  begin
    perform set_config('lock_timeout', p_patience, true);
    ${lockLanes("p_number_id")}

    select array_agg(held.place), bool_or(held.limits)
    into v_held, v_limits
    from (
      select distinct on (s.number_id) s.place, ${limitsRecipients("l")} as limits
      from unnest(p_number_id, p_lease, p_message_id) with ordinality
        s (number_id, lease, message_id, place)
      join lanes l on l.number_id = s.number_id
      where ${holdsLease("l", "s.lease")}
        and l.head_id = s.message_id
      order by s.number_id, s.place
    ) held;
    if v_held is null then
      return;
    end if;

    with ended as (
      update messages m
      set ${setEnd}
      from ${lookedUpBy(
        "p_message_id",
        listed(columns, (name) => `p_${name}`),
      )}
        s (${listed(columns)}, place)
      where s.place = any (v_held)
        and not s.again
        and m.id = s.message_id
        and ${stillWaits("m")}
      returning
        m.id, m.workspace_id, m.mode, m.allowance_taken and s.gives_back as gives_back,
        ${returnedReports}
    ),
    ${announce}
    select
      array_agg(ended.workspace_id) filter (where ended.gives_back),
      ${anyQueued}
    into v_given_back, v_queued
    from ended;

    if v_limits then
      insert into lane_recipients (number_id, recipient, first_sent_at)
      select m.number_id, ${recipientName("m")}, m.sent_at
      from unnest(p_message_id) with ordinality s (message_id, place)
      join messages m on m.id = s.message_id
      join lanes l on l.number_id = m.number_id
      where s.place = any (v_held)
        and m.sent_at is not null
        and ${limitsRecipients("l")}
      on conflict (number_id, recipient) do nothing;
    end if;

    if cardinality(p_pause_reason) > 0 then
      update lanes l
      set ${setPauses("l", "s.pause_reason", "s.pause_until")}
      from unnest(p_number_id, p_pause_reason, p_pause_until) with ordinality
        s (number_id, pause_reason, pause_until, place)
      where s.place = any (v_held)
        and s.pause_reason is not null
        and l.number_id = s.number_id;
    end if;

    -- A later statement: it sees the messages as they are now.
    update lanes l
    set lease_until = null,
      head_id = case when s.again then l.head_id end,
      interruptions = case when s.again then l.interruptions + s.interrupted else 0 end,
      hold_until = s.not_before,
      limited_until = s.no_room_until,
      no_room = coalesce(s.no_room, 0),
      refusals = coalesce(s.refusals, l.refusals),
      pauses = coalesce(s.pauses, l.pauses),
      sent_bound = l.sent_bound + case when s.state = 'sent' then 1 else 0 end,
      quota_full_until = case when s.gives_back then null else l.quota_full_until end,
      next_due = ${nextDueAfter.settled("l", {
        now: "p_now",
        again: "s.again",
        notBefore: "s.not_before",
        limitedUntil: "s.no_room_until",
        stoppedUntil: stoppedUntil("l"),
        mayHaveLeft: "l.interruptions + s.interrupted > 0",
        firstDueAt: firstWaiting("due_at", "l", { now: "p_now" }),
      })},
      stranded = l.removed_at is not null and ${waitsUnless(
        "l",
        "(s.again and l.interruptions + s.interrupted > 0 and m.id = l.head_id)",
      )}
    from unnest(
      p_number_id, p_again, p_not_before, p_interrupted, p_gives_back, p_state, p_refusals,
      p_pauses, p_no_room, p_no_room_until
    ) with ordinality s (
      number_id, again, not_before, interrupted, gives_back, state, refusals, pauses, no_room,
      no_room_until, place
    )
    where s.place = any (v_held)
      and l.number_id = s.number_id;

    ${giveBackAllowance("v_given_back")}

    return query
    select p_message_id[held.place], v_queued
    from unnest(v_held) held (place);
  end`

const settleStatement = call("settle", settleAttempts)

export const settle =
  (database: DatabaseService, { tell }: DeliveriesQueued): (typeof LaneQueue.Service)["settle"] =>
  (settlements, now) => {
    if (settlements.length === 0) {
      return Effect.succeed({ settled: new Set<MessageId>(), heldUp: [] })
    }
    const together = (some: ReadonlyArray<Settlement>) =>
      endedIds(
        settleStatement.rows<EndedRow>(database, {
          settlements: some,
          now,
          patience: `${lockMillis}ms`,
        }),
        tell,
      )
    return Effect.map(togetherOrAlone(settlements, together), ({ done, heldUp }) => ({
      settled: new Set(done.flatMap((ids) => [...ids])),
      heldUp,
    }))
  }
