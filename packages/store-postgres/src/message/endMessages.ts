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
import { bigint, boolean, columnsOf, instant, text, within } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import {
  call,
  each,
  given,
  joinable,
  joinableCall,
  joined,
  kept,
  part,
  single,
  sqlFunction,
  taking,
} from "../database/Statement.ts"
import { callbackColumns } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
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

const endMessages = sqlFunction(
  "end_messages",
  joined(taking({ now: instant }), part("changes", each(endingColumns, "p_"))),
)

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

const insertRefusedMessage = sqlFunction(
  "insert_refused_message",
  joined(part("message", single(refusedColumns, "m_")), single(reportColumns, "p_")),
)

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
