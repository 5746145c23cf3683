/**
 * Ending messages, and what each end writes beside the message: its event with the deliveries to
 * webhook endpoints, its callback, and the allowance that is given back. Settling an attempt writes the
 * same in a function of its own.
 */
import type {
  Message,
  MessageChange,
  MessageEvent,
  MessageId,
  RefusedMessage,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, boolean, columnsOf, instant, listed, text, within } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import {
  call,
  each,
  given,
  joinable,
  joinableCall,
  joined,
  kept,
  lookedUpBy,
  part,
  single,
  sqlFunction,
  taking,
} from "../database/Statement.ts"
import {
  firstToLeave,
  inHands,
  lockLanes,
  nextDueAfter,
  stillWaits,
  waitsUnless,
} from "../queue/lane.ts"
import { anyQueued, callbackColumns, fanOut, writeCallbacks } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { isLimited } from "../workspace/workspaceRow.ts"
import { acceptedColumns, endColumns } from "./messageRow.ts"

/** All else of an event its message says. */
const eventColumns = columnsOf({
  id: { event_id: text((event) => event.id) },
  type: { event_type: text((event) => event.type) },
  createdAt: { event_at: instant((event) => event.createdAt) },
  body: { event_body: text((event) => event.body) },
} satisfies FieldsOf<Omit<MessageEvent, "workspaceId" | "mode" | "messageId">>)

/** How a change is reported. */
const reportFields = {
  event: within((change: Pick<MessageChange, "event">) => change.event, eventColumns),
  callback: within((change: Pick<MessageChange, "callback">) => change.callback, callbackColumns),
} satisfies FieldsOf<Pick<MessageChange, "event" | "callback">>

const reportColumns = columnsOf(reportFields)

export const changeColumns = columnsOf({
  message: within((change: Pick<MessageChange, "message">) => change.message, endColumns),
  givesBack: { gives_back: boolean((change) => change.givesBack) },
  ...reportFields,
} satisfies FieldsOf<MessageChange>)

/** What an `update messages m` sets from the changes `s`. */
export const setEnd: string = `${listed(endColumns, (name) => `${name} = s.${name}`)}, ended_at = s.event_at`

/** What it returns of them, beside the message itself, for the parts of `announce`. */
export const returnedReports: string = `${listed(reportColumns, (name) => `s.${name}`)}, s.place`

/** Parts of a `with`, after the part `ended`, which returns the messages that came to their end. */
export const announce = `announced as (
      insert into outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
      select
        ended.workspace_id, ended.id, ended.event_at, ended.event_id, ended.event_type, ended.mode,
        ended.event_body
      from ended
      order by ended.place
      returning id, workspace_id, mode, created_at, event_id, type
    ),
    ${fanOut},
    ${writeCallbacks}`

/**
 * Gives allowance back: what cancelled and expired messages took from a limited plan. By then the
 * lanes are locked; the workspaces follow, by id. A plan that is unlimited by now gets nothing.
 */
export const giveBackAllowance = (workspaces: string): string => `if ${workspaces} is not null then
      perform
      from workspaces w
      where w.id = any (${workspaces})
      order by w.id
      for no key update;
      update workspaces w
      set plan_messages_remaining = w.plan_messages_remaining + back.count
      from (
        select given.workspace_id, count(*) as count
        from unnest(${workspaces}) given (workspace_id)
        group by given.workspace_id
      ) back
      where w.id = back.workspace_id
        and ${isLimited("w")};
    end if;`

export interface EndedRow {
  readonly message_id: bigint
  /** Of all of them together: whether deliveries were queued. */
  readonly queued: boolean
}

/** The messages of these rows; tells of deliveries. */
export const endedIds = (
  rows: Effect.Effect<ReadonlyArray<EndedRow>, StoreUnavailable>,
  tell: Effect.Effect<void>,
) =>
  rows.pipe(
    Effect.tap(([row]) => (row?.queued === true ? tell : Effect.void)),
    Effect.map((found) => new Set(found.map((row) => Number(row.message_id) as MessageId))),
  )

const endingColumns = {
  number_id: bigint(({ message }: MessageChange) => message.from.id),
  message_id: bigint(({ message }: MessageChange) => message.id),
  ...changeColumns,
}

/**
 * Ends waiting messages outside of a lane's lease: cancels, expiries, test mode. Each change stands on
 * its own: what is no longer waiting, or in the hands of a transport, is passed over. Every array holds
 * one element for each change; returns the ended messages.
 *
 * Locks: the lanes by id, then the workspaces that get allowance back, by id.
 */
export const endMessages = sqlFunction(
  "end_messages",
  joined(taking({ now: instant }), part("changes", each(endingColumns, "p_"))),
  "table (message_id bigint, queued boolean)",
)`
  declare
    -- Whether deliveries were queued.
    v_queued boolean;
    v_ended bigint[];
    v_given_back bigint[];
    -- Numbers whose live messages ended, and those among them that got quota back.
    v_lanes bigint[];
    v_with_room bigint[];
  begin
    ${lockLanes("p_number_id")}

    with ended as (
      update messages m
      set ${setEnd}
      from ${lookedUpBy(
        "p_message_id",
        listed(endingColumns, (name) => `p_${name}`),
      )}
        s (${listed(endingColumns)}, place)
      join lanes l on l.number_id = s.number_id
      where m.id = s.message_id
        and m.number_id = s.number_id
        and ${stillWaits("m")}
        and not ${inHands("m", "l")}
      returning
        m.id, m.workspace_id, m.number_id, m.mode, s.gives_back,
        m.allowance_taken and s.gives_back as allowance_back,
        ${returnedReports}
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
      limited_until = null,
      next_due = ${nextDueAfter.ended("l", firstToLeave("due_at", "l", "p_now"))},
      stranded = l.removed_at is not null and ${waitsUnless("l", inHands("m", "l"))}
    where l.number_id = any (v_lanes);

    ${giveBackAllowance("v_given_back")}

    return query
    select ended.id, v_queued
    from unnest(v_ended) ended (id);
  end`

const endStatement = call("end", endMessages)

export const end =
  (database: DatabaseService, { tell }: DeliveriesQueued) =>
  (changes: ReadonlyArray<MessageChange>) => {
    if (changes.length === 0) return Effect.succeed(new Set<MessageId>())
    const now = changes.reduce((latest, { event }) => Math.max(latest, event.createdAt), -Infinity)
    // Of several for one message the first stands: which one the server takes depends on its plan.
    const first = new Map(changes.toReversed().map((change) => [change.message.id, change]))
    const input = { now, changes: changes.filter((one) => first.get(one.message.id) === one) }
    return endedIds(endStatement.rows<EndedRow>(database, input), tell)
  }

const refusedColumns = {
  id: bigint((message: Message) => message.id),
  ...acceptedColumns,
  ...endColumns,
}

/**
 * Writes a message that was refused, as it has ended. Its event names its id, so the id is drawn
 * first; one that is drawn for nothing leaves a harmless gap. Whether deliveries were queued; no row
 * when the number is gone.
 *
 * Locks: the lane, so that neither number nor workspace go meanwhile; the lane stays as it is.
 */
export const insertRefusedMessage = sqlFunction(
  "insert_refused_message",
  joined(part("message", single(refusedColumns, "m_")), single(reportColumns, "p_")),
  "table (queued boolean)",
)`
  begin
    perform
    from lanes l
    where l.number_id = m_number_id
      and l.workspace_id = m_workspace_id
      and l.removed_at is null
    for no key update;
    if not found then
      return;
    end if;

    insert into messages (allowance_taken, refused, ended_at, ${listed(refusedColumns)})
    values (false, true, p_event_at, ${listed(refusedColumns, (name) => `m_${name}`)});

    return query
    with ended as (
      select
        m_id as id, m_workspace_id as workspace_id, m_mode as mode, 1 as place,
        ${listed(reportColumns, (name) => `p_${name} as ${name}`)}
    ),
    ${announce}
    select ${anyQueued};
  end`

const nextId = joinable(
  "message.nextId",
  given({}),
  kept({ id: bigint }),
)`select nextval('messages_id_seq') as id`

const insert = joinableCall(
  "message.insertRefused",
  insertRefusedMessage,
  kept({ queued: boolean }),
)

export const insertRefused =
  (database: DatabaseService, { tell }: DeliveriesQueued) =>
  (refused: RefusedMessage) =>
    Effect.gen(function* () {
      const id = yield* nextId.value<bigint>(database, {})
      const change = refused.ended(Number(id) as MessageId)
      const queued = yield* insert.value<boolean>(database, change)
      if (queued === null) return null
      if (queued) yield* tell
      return change
    })
