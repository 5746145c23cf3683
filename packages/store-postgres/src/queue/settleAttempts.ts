/**
 * Settling attempts: the end of each message or its return to the lane, its event, what it gives
 * back and the lane's next due moment, in one commit.
 *
 * Locks: the lanes by id, then the workspaces that get allowance back, by id. A lane whose lease is
 * another one by now has been handed to another worker: that settlement is passed over.
 */
import type { MessageId, Settlement, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import { callbackArguments, callbackArrays, writeCallbacks } from "../callback/writeCallbacks.ts"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigints,
  booleans,
  instant,
  instants,
  integers,
  sparse,
  texts,
} from "../database/parameters.ts"
import { placeholders, sqlFunction } from "../database/SqlFunction.ts"
import { giveBackAllowance } from "../message/givesBack.ts"
import { endPhone } from "../message/messageRow.ts"
import type { DeliveriesQueued } from "../webhook/DeliveriesQueued.ts"
import { anyQueued, fanOut } from "../webhook/fanOut.ts"
import { firstWaiting, nextDueAfter } from "./lane.ts"

/**
 * Every array holds one element for each settlement, or none where all are null; returns the settled
 * messages.
 */
export const settleAttempts = sqlFunction(
  "settle_attempts",
  `(
    p_now timestamptz,
    p_number bigint[],
    p_lease bigint[],
    p_message bigint[],
    p_again boolean[],
    p_not_before timestamptz[],
    p_interrupted integer[],
    p_gives_back boolean[],
    p_state text[],
    p_sent_at timestamptz[],
    p_error_code text[],
    p_error_message text[],
    p_found_media_type text[],
    p_end_phone text[],
    p_event_id text[],
    p_event_type text[],
    p_event_at timestamptz[],
    p_event_body text[],
    ${callbackArrays.trimStart()}
  )
  returns table (message_id bigint, queued boolean)
  language plpgsql
  as $function$
  #variable_conflict use_column
  declare
    -- Whether deliveries were queued.
    v_queued boolean;
    -- The places of the settlements whose lease still holds.
    v_held integer[];
    v_given_back bigint[];
  begin
    perform
    from lanes l
    where l.number_id = any (p_number)
    order by l.number_id
    for no key update;

    select array_agg(held.place)
    into v_held
    from (
      select distinct on (s.number_id) s.place
      from unnest(p_number, p_lease, p_message) with ordinality
        s (number_id, lease, message_id, place)
      join lanes l on l.number_id = s.number_id
      where l.lease = s.lease
        and l.lease_until is not null
        and l.head_id = s.message_id
      order by s.number_id, s.place
    ) held;
    if v_held is null then
      return;
    end if;

    with ended as (
      update messages m
      set state = s.state,
        sent_at = s.sent_at,
        error_code = s.error_code,
        error_message = s.error_message,
        found_media_type = s.found_media_type,
        end_phone = s.end_phone
      from unnest(
        p_message, p_again, p_gives_back, p_state, p_sent_at, p_error_code, p_error_message,
        p_found_media_type, p_end_phone, p_event_id, p_event_type, p_event_at, p_event_body,
        p_callback_target, p_callback_url, p_callback_body
      ) with ordinality s (
        message_id, again, gives_back, state, sent_at, error_code, error_message,
        found_media_type, end_phone, event_id, event_type, event_at, event_body, callback_target,
        callback_url, callback_body, place
      )
      where s.place = any (v_held)
        and not s.again
        and m.id = s.message_id
        and m.state = 'waiting'
      returning
        m.id, m.workspace_id, m.mode, m.allowance_taken and s.gives_back as gives_back,
        s.event_id, s.event_type, s.event_at, s.event_body, s.callback_target, s.callback_url,
        s.callback_body, s.place
    ),
    announced as (
      insert into outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
      select
        ended.workspace_id, ended.id, ended.event_at, ended.event_id, ended.event_type, ended.mode,
        ended.event_body
      from ended
      order by ended.place
      returning id, workspace_id, mode, created_at, event_id, type
    ),
    ${fanOut},
    ${writeCallbacks}
    select
      array_agg(ended.workspace_id) filter (where ended.gives_back),
      ${anyQueued}
    into v_given_back, v_queued
    from ended;

    -- A later statement: it sees the messages as they are now.
    update lanes l
    set lease_until = null,
      head_id = case when s.again then l.head_id end,
      interruptions = case when s.again then l.interruptions + s.interrupted else 0 end,
      hold_until = s.not_before,
      sent_bound = l.sent_bound + case when s.state = 'sent' then 1 else 0 end,
      quota_full_until = case when s.gives_back then null else l.quota_full_until end,
      next_due = ${nextDueAfter.settled("l", {
        now: "p_now",
        again: "s.again",
        notBefore: "s.not_before",
        mayHaveLeft: "l.interruptions + s.interrupted > 0",
        firstDueAt: firstWaiting("due_at", "l", { now: "p_now" }),
      })},
      stranded = l.removed_at is not null and exists (
        select
        from messages m
        where m.number_id = l.number_id
          and m.state = 'waiting'
          and not (s.again and l.interruptions + s.interrupted > 0 and m.id = l.head_id)
      )
    from unnest(p_number, p_again, p_not_before, p_interrupted, p_gives_back, p_state)
      with ordinality s (number_id, again, not_before, interrupted, gives_back, state, place)
    where s.place = any (v_held)
      and l.number_id = s.number_id;

    if v_given_back is not null then
      ${giveBackAllowance("v_given_back")}
    end if;

    return query
    select p_message[held.place], v_queued
    from unnest(v_held) held (place);
  end
  $function$`,
)

const statement = `select settled.message_id, settled.queued from ${settleAttempts.name}(${placeholders(21)}) settled`

export const settle =
  (database: DatabaseService, { tell }: Pick<typeof DeliveriesQueued.Service, "tell">) =>
  (
    settlements: ReadonlyArray<Settlement>,
    now: number,
  ): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable> => {
    if (settlements.length === 0) return Effect.succeed(new Set())
    const ended = settlements.map((one) => (one._tag === "Ended" ? one.change : null))
    const callbacks = ended.map((change) => change?.callback ?? null)
    return database
      .query<{ readonly message_id: bigint; readonly queued: boolean }>("settle", statement, [
        instant(now),
        bigints(settlements.map((one) => one.numberId)),
        bigints(settlements.map((one) => one.lease)),
        bigints(
          settlements.map((one) => (one._tag === "Ended" ? one.change.message.id : one.messageId)),
        ),
        booleans(settlements.map((one) => one._tag === "Again")),
        instants(sparse(settlements.map((one) => (one._tag === "Again" ? one.notBefore : null)))),
        integers(settlements.map((one) => (one._tag === "Again" && one.interrupted ? 1 : 0))),
        booleans(ended.map((change) => change?.givesBack ?? false)),
        texts(ended.map((change) => change?.message.state ?? null)),
        instants(ended.map((change) => change?.message.sentAt ?? null)),
        texts(sparse(ended.map((change) => change?.message.error?.code ?? null))),
        texts(sparse(ended.map((change) => change?.message.error?.message ?? null))),
        texts(sparse(ended.map((change) => change?.message.foundMediaType ?? null))),
        texts(sparse(ended.map((change) => (change === null ? null : endPhone(change.message))))),
        texts(ended.map((change) => change?.event.id ?? null)),
        texts(ended.map((change) => change?.event.type ?? null)),
        instants(ended.map((change) => change?.event.createdAt ?? null)),
        texts(ended.map((change) => change?.event.body ?? null)),
        ...callbackArguments(callbacks),
      ])
      .pipe(
        Effect.tap(([row]) => (row?.queued === true ? tell : Effect.void)),
        Effect.map((rows) => new Set(rows.map((row) => Number(row.message_id) as MessageId))),
      )
  }
