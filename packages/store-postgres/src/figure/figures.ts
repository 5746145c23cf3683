/** Figures by hour: what is not counted yet, and the rows of hours. */
import { erasedAtOnce, webhookEventTypes } from "@messaging-service/core"
import type {
  FigureEntry,
  FigureKind,
  FigurePositions,
  FigureStore,
  FigureStream,
  HourlyFigures,
  StoreUnavailable,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { positionReader } from "../database/positionReader.ts"
import { millis, statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"

const readPosition = statement("figure.place")
const count = statement("count_figures")
const getHours = statement("figure.hours")
const present = statement("figure.present")
const forget = statement("figure.forget")

type Positioned<A> = A & { readonly id: bigint; readonly mode: string | null; readonly at: Date }

/** Null for what nothing counts. */
const findEntry = (
  row: Positioned<{ readonly workspace_id: bigint | null }>,
  kind: FigureKind | null,
  more: Pick<FigureEntry, "dueAt" | "errorCode"> = { dueAt: null, errorCode: null },
): FigureEntry | null =>
  kind === null || row.workspace_id === null
    ? null
    : {
        position: Number(row.id),
        workspaceId: Number(row.workspace_id) as WorkspaceId,
        mode: row.mode as FigureEntry["mode"],
        at: row.at.getTime(),
        kind,
        ...more,
      }

const ofMessage = (row: Row<"figure.messages">) => findEntry(row, row.refused ? null : "accepted")

/** Of a message's end: `message.sent` and the like. */
const ofEvent = (row: Row<"figure.events">) => {
  const isEnd = (webhookEventTypes as ReadonlyArray<string>).includes(row.type)
  return findEntry(row, isEnd ? (row.type.slice("message.".length) as FigureKind) : null, {
    dueAt: millis(row.due_at),
    errorCode: row.error_code,
  })
}

const ofAttempt = (row: Row<"figure.attempts">) =>
  findEntry(row, row.error === null ? "delivered" : "not_delivered")

interface Stream {
  /** Behind a position, in every workspace, up to where nothing can be added any more. */
  read(
    after: number,
    limit: number,
  ): Effect.Effect<
    { readonly to: number; readonly entries: ReadonlyArray<FigureEntry> },
    StoreUnavailable
  >
  /** The same of one workspace, without a look at gaps. */
  of(query: {
    readonly workspaceId: number
    readonly mode: string
    readonly after: number
    readonly limit: number
  }): Effect.Effect<ReadonlyArray<FigureEntry | null>, StoreUnavailable>
}

const isEntry = (entry: FigureEntry | null): entry is FigureEntry => entry !== null

const reading = <One extends { readonly id: bigint }>(
  database: DatabaseService,
  find: (after: number, limit: number) => Effect.Effect<ReadonlyArray<One>, StoreUnavailable>,
  toEntry: (row: One) => FigureEntry | null,
): Stream["read"] => {
  const read = positionReader(database, find)
  return (after, limit) =>
    Effect.map(read(after, limit), (rows) => ({
      to: Number(rows.at(-1)?.id ?? after),
      entries: rows.map(toEntry).filter(isEntry),
    }))
}

const allMessages = statement("figure.messages")
const allEvents = statement("figure.events")
const allAttempts = statement("figure.attempts")
const listMessages = statement("figure.messagesOf")
const getEvents = statement("figure.eventsOf")
const attemptsOf = statement("figure.attemptsOf")

const toStreams = (database: DatabaseService): Readonly<Record<FigureStream, Stream>> => ({
  messages: {
    read: reading(
      database,
      (after, limit) => allMessages.rows(database, { after, limit }),
      ofMessage,
    ),
    of: (query) => listMessages.all(database, query, ofMessage),
  },
  events: {
    read: reading(database, (after, limit) => allEvents.rows(database, { after, limit }), ofEvent),
    of: (query) => getEvents.all(database, query, ofEvent),
  },
  attempts: {
    read: reading(
      database,
      (after, limit) => allAttempts.rows(database, { after, limit }),
      ofAttempt,
    ),
    of: (query) => attemptsOf.all(database, query, ofAttempt),
  },
})

/** As `count_figures` reads it. */
const toRow = (one: HourlyFigures) => ({
  workspace_id: one.workspaceId,
  mode: one.mode,
  hour: new Date(one.hour).toISOString(),
  accepted: one.accepted,
  sent: one.sent,
  failed: one.failed,
  expired: one.expired,
  cancelled: one.cancelled,
  deliveries: one.deliveries,
  deliveries_failed: one.deliveriesFailed,
  failures: one.failures,
  waits: one.waits,
})

export const figureStore = (database: DatabaseService): FigureStore => {
  const streams = toStreams(database)
  return {
    readUncounted: Effect.fnUntraced(function* readUncounted(stream, limit) {
      const from = Number((yield* readPosition.value(database, { stream })) ?? 0)
      return { from, ...(yield* streams[stream].read(from, limit)) }
    }),
    count(stream, { from, to }, hours) {
      const params = { stream, from, to, hours: { rows: hours.map(toRow) } }
      return count.isTrue(database, params)
    },
    hours(query) {
      return getHours.one(database, query, (row) => ({
        hours: row.hours as ReadonlyArray<HourlyFigures>,
        places: row.places as FigurePositions,
      }))
    },
    entriesAfter(stream, query) {
      return Effect.map(streams[stream].of(query), (entries) => entries.filter(isEntry))
    },
    presentFigures(query) {
      return present.one(database, query, (row) => ({
        queued: Number(row.queued),
        scheduled: Number(row.scheduled),
        oldestDueAt: millis(row.oldest_due_at),
        usedBytes: Number(row.used_bytes),
      }))
    },
    forgetFigures(before) {
      return forget.untilDone(database, { before, limit: erasedAtOnce })
    },
  }
}
