/**
 * Ending waiting messages outside of a lane's lease: cancels, expiries, test mode. Each change
 * stands on its own: what is no longer waiting, or in the hands of a transport, is passed over.
 *
 * Locks: the lanes by id, then the workspaces that get allowance back, by id.
 */
import type { MessageChange, MessageId, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import { callbackArguments, callbackArrays, writeCallbacks } from "../callback/writeCallbacks.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, booleans, instant, instants, sparse, texts } from "../database/parameters.ts"
import { placeholders, sqlFunction } from "../database/SqlFunction.ts"
import { firstWaiting, inHands, nextDueAfter } from "../queue/lane.ts"
import type { DeliveriesQueued } from "../webhook/DeliveriesQueued.ts"
import { anyQueued, fanOut } from "../webhook/fanOut.ts"
import { giveBackAllowance } from "./givesBack.ts"
import { endPhone } from "./messageRow.ts"

/** Every array holds one element for each change; returns the ended messages. */
export const endMessages = sqlFunction(
  "end_messages",
  `(
    p_now timestamptz,
    p_number bigint[],
    p_message bigint[],
    p_gives_back boolean[],
    p_state text[],
    p_sent_at timestamptz[],
    p_error_code text[],
    p_error_message text[],
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
    v_ended bigint[];
    v_given_back bigint[];
    -- Numbers whose live messages ended, and those among them that got quota back.
    v_lanes bigint[];
    v_with_room bigint[];
  begin
    perform
    from lanes l
    where l.number_id = any (p_number)
    order by l.number_id
    for no key update;

    with ended as (
      update messages m
      set state = s.state,
        sent_at = s.sent_at,
        error_code = s.error_code,
        error_message = s.error_message,
        end_phone = s.end_phone
      from unnest(
        p_number, p_message, p_gives_back, p_state, p_sent_at, p_error_code, p_error_message,
        p_end_phone, p_event_id, p_event_type, p_event_at, p_event_body, p_callback_target,
        p_callback_url, p_callback_body
      ) with ordinality s (
        number_id, message_id, gives_back, state, sent_at, error_code, error_message, end_phone,
        event_id, event_type, event_at, event_body, callback_target, callback_url, callback_body,
        place
      )
      join lanes l on l.number_id = s.number_id
      where m.id = s.message_id
        and m.number_id = s.number_id
        and m.state = 'waiting'
        and not ${inHands("m", "l")}
      returning
        m.id, m.workspace_id, m.number_id, m.mode, s.gives_back,
        m.allowance_taken and s.gives_back as allowance_back,
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
      array_agg(ended.id),
      array_agg(ended.workspace_id) filter (where ended.allowance_back),
      array_agg(distinct ended.number_id),
      array_agg(distinct ended.number_id) filter (where ended.gives_back and ended.mode = 'live'),
      ${anyQueued}
    into v_ended, v_given_back, v_lanes, v_with_room, v_queued
    from ended;
    if v_ended is null then
      return;
    end if;

    -- A later statement: it sees the messages as they are now.
    update lanes l
    set head_id = case when l.head_id = any (v_ended) then null else l.head_id end,
      interruptions = case when l.head_id = any (v_ended) then 0 else l.interruptions end,
      quota_full_until = case
        when l.number_id = any (v_with_room) then null
        else l.quota_full_until
      end,
      next_due = ${nextDueAfter.ended("l", firstWaiting("due_at", "l", { now: "p_now" }))},
      stranded = l.removed_at is not null and exists (
        select
        from messages m
        where m.number_id = l.number_id
          and m.state = 'waiting'
          and not ${inHands("m", "l")}
      )
    where l.number_id = any (v_lanes);

    if v_given_back is not null then
      ${giveBackAllowance("v_given_back")}
    end if;

    return query
    select ended.id, v_queued
    from unnest(v_ended) ended (id);
  end
  $function$`,
)

const statement = `select ended.message_id, ended.queued from ${endMessages.name}(${placeholders(16)}) ended`

export const end =
  (database: DatabaseService, { tell }: Pick<typeof DeliveriesQueued.Service, "tell">) =>
  (
    changes: ReadonlyArray<MessageChange>,
  ): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable> => {
    if (changes.length === 0) return Effect.succeed(new Set())
    const callbacks = changes.map(({ callback }) => callback)
    const now = changes.reduce((latest, { event }) => Math.max(latest, event.createdAt), -Infinity)
    return database
      .query<{ readonly message_id: bigint; readonly queued: boolean }>("end", statement, [
        instant(now),
        bigints(changes.map(({ message }) => message.from.id)),
        bigints(changes.map(({ message }) => message.id)),
        booleans(changes.map(({ givesBack }) => givesBack)),
        texts(changes.map(({ message }) => message.state)),
        instants(changes.map(({ message }) => message.sentAt)),
        texts(changes.map(({ message }) => message.error?.code ?? null)),
        texts(changes.map(({ message }) => message.error?.message ?? null)),
        texts(sparse(changes.map(({ message }) => endPhone(message)))),
        texts(changes.map(({ event }) => event.id)),
        texts(changes.map(({ event }) => event.type)),
        instants(changes.map(({ event }) => event.createdAt)),
        texts(changes.map(({ event }) => event.body)),
        ...callbackArguments(callbacks),
      ])
      .pipe(
        Effect.tap(([row]) => (row?.queued === true ? tell : Effect.void)),
        Effect.map((rows) => new Set(rows.map((row) => Number(row.message_id) as MessageId))),
      )
  }
