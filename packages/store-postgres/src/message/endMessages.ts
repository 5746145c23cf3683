/**
 * Ending waiting messages outside of a lane's lease: cancels, expiries, test mode. Each change
 * stands on its own: what is no longer waiting, or in the hands of a transport, is passed over.
 *
 * Locks: the lanes by id, then the workspaces that get allowance back, by id.
 */
import type { MessageChange, MessageId, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant, listed } from "../database/Fields.ts"
import { sqlFunction } from "../database/SqlFunction.ts"
import { each, joined, on, single, statement } from "../database/Statement.ts"
import { firstWaiting, inHands, nextDueAfter } from "../queue/lane.ts"
import { anyQueued } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { announce, changeColumns, giveBackAllowance, returnedNews, setEnd } from "./changes.ts"

interface Ends {
  readonly now: number
  readonly changes: ReadonlyArray<MessageChange>
}

const columns = {
  number_id: bigint(({ message }: MessageChange) => message.from.id),
  message_id: bigint(({ message }: MessageChange) => message.id),
  ...changeColumns,
}

const parameters = joined(
  single({ p_now: instant((ends: Ends) => ends.now) }),
  on((ends: Ends) => ends.changes, each(columns, "p_")),
)

/** Every array holds one element for each change; returns the ended messages. */
export const endMessages = sqlFunction(
  "end_messages",
  `(${parameters.declarations})
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
    where l.number_id = any (p_number_id)
    order by l.number_id
    for no key update;

    with ended as (
      update messages m
      set ${setEnd}
      from unnest(${listed(columns, (name) => `p_${name}`)})
        with ordinality s (${listed(columns)}, place)
      join lanes l on l.number_id = s.number_id
      where m.id = s.message_id
        and m.number_id = s.number_id
        and m.state = 'waiting'
        and not ${inHands("m", "l")}
      returning
        m.id, m.workspace_id, m.number_id, m.mode, s.gives_back,
        m.allowance_taken and s.gives_back as allowance_back,
        ${returnedNews}
    ),
    ${announce}
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

const endStatement = statement(
  "end",
  parameters,
)`select ended.message_id, ended.queued from ${endMessages.name}(${parameters.placeholders}) ended`

export const end =
  (database: DatabaseService, { tell }: Pick<typeof DeliveriesQueued.Service, "tell">) =>
  (
    changes: ReadonlyArray<MessageChange>,
  ): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable> => {
    if (changes.length === 0) return Effect.succeed(new Set())
    const now = changes.reduce((latest, { event }) => Math.max(latest, event.createdAt), -Infinity)
    return endStatement
      .rows<{ readonly message_id: bigint; readonly queued: boolean }>(database, { now, changes })
      .pipe(
        Effect.tap(([row]) => (row?.queued === true ? tell : Effect.void)),
        Effect.map((rows) => new Set(rows.map((row) => Number(row.message_id) as MessageId))),
      )
  }
