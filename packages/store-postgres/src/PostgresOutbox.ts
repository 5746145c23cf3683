/**
 * Reading the outbox by position, without ever passing over an event.
 *
 * Positions come from a sequence: a transaction that took a smaller one may commit later, and a
 * reader that has gone past it would never see it. So a reader stops before a gap until it is known
 * that it will stay empty. A transaction has an id of its own before it takes a position; once all
 * that were under way when the gap was first seen are over, what is still missing was rolled back.
 */
import { sqlFiles } from "./sql.generated.ts"
import { erasedAtOnce } from "@messaging-service/core"
import type { Outbox, OutboxEvent } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "./database/Database.ts"
import { bigint, columnsOf, decoded, instant, integer, selected, text } from "./database/Fields.ts"
import type { FieldsOf } from "./database/Fields.ts"
import { given, statement } from "./database/Statement.ts"

const eventFields = {
  id: { id: bigint((event) => event.id) },
  eventId: { event_id: text((event) => event.eventId) },
  type: { type: text((event) => event.type) },
  workspaceId: { workspace_id: bigint((event) => event.workspaceId) },
  mode: { mode: text((event) => event.mode) },
  messageId: { message_id: bigint((event) => event.messageId) },
  createdAt: { created_at: instant((event) => event.createdAt) },
  body: { body: text((event) => event.body) },
} satisfies FieldsOf<OutboxEvent>

const toEvent = decoded<OutboxEvent>(eventFields)

interface OutboxRow {
  readonly id: bigint
}

interface TransactionRow {
  readonly id: bigint
}

const readOutbox = statement("outbox.read", given({ after: bigint, limit: integer }))`
select ${selected(columnsOf(eventFields), "o")}
from outbox o
where o.id > $after
order by o.id
limit $limit`

const latestPosition = statement("outbox.latest", given({}))`
select coalesce(max(o.id), 0)::bigint as latest
from outbox o`

/**
 * All transactions before this one are over. Asked before the events are read, so that the read
 * sees what those have written.
 */
const firstUnderWay = statement("outbox.underWay", given({}))`
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as id`

/**
 * A transaction that begins now: all that have taken a position began before it. The end of a
 * snapshot would not do: it stands behind the latest transaction that is over, and one with a
 * higher id may be under way.
 */
const beginsNow = statement("outbox.beginsNow", given({}))`
select pg_current_xact_id()::text::bigint as id`

const forgetEvents = statement(
  "outbox.forget",
  given({ before: instant, limit: integer }),
)(sqlFiles["statements/outbox/forget-events.sql"])

/** How many gaps are remembered; readers that stand at others look twice. */
const remembered = 64

export const outbox = (database: DatabaseService): typeof Outbox.Service => {
  /** The position before a gap, and the first transaction that cannot fill it. */
  const gaps = new Map<number, bigint>()

  /** Transactions before `first` may yet fill the gap after `before`. */
  const remember = (before: number, first: bigint) => {
    gaps.set(before, first)
    const oldest = gaps.keys().next().value
    if (gaps.size > remembered && oldest !== undefined) gaps.delete(oldest)
  }

  /** The events up to the first gap that may still be filled; `gap` if it is seen for the first time. */
  const settled = (after: number, events: ReadonlyArray<OutboxRow>, over: bigint) => {
    let before = after
    for (const [index, event] of events.entries()) {
      const id = Number(event.id)
      if (id !== before + 1) {
        const first = gaps.get(before)
        if (first === undefined) return { rows: events.slice(0, index), gap: before }
        if (over < first) return { rows: events.slice(0, index), gap: null }
      }
      gaps.delete(before)
      before = id
    }
    return { rows: events, gap: null }
  }

  const firstId = (rows: ReadonlyArray<TransactionRow>) => BigInt(rows[0]?.id ?? 0)
  const allOverBefore = Effect.map(firstUnderWay.rows<TransactionRow>(database, {}), firstId)
  const transactionNow = Effect.map(beginsNow.rows<TransactionRow>(database, {}), firstId)

  const read = Effect.fnUntraced(function* (after: number, limit: number) {
    const events: Array<OutboxEvent> = []
    let position = after
    let over = yield* allOverBefore
    for (;;) {
      const query = { after: position, limit: limit - events.length }
      const found = yield* readOutbox.rows<OutboxRow>(database, query)
      const { gap, rows } = settled(position, found, over)
      events.push(...rows.map(toEvent))
      const last = rows.at(-1)
      if (gap === null && (events.length > 0 || last === undefined)) return events
      if (gap !== null) remember(gap, yield* transactionNow)
      // Behind the gaps that are passed: their notes are gone, and each would be looked at anew.
      if (last !== undefined) position = Number(last.id)
      over = yield* allOverBefore
    }
  })

  return {
    read,
    latest: Effect.map(latestPosition.rows<{ readonly latest: bigint }>(database, {}), ([row]) =>
      Number(row?.latest ?? 0),
    ),
    forget: (before) => forgetEvents.untilDone(database, { before, limit: erasedAtOnce }),
  }
}
