/**
 * Erasing what has outlived its retention. Each statement walks lists of rows (the messages, events or
 * attempts of one workspace) from the oldest, erases a few, and says where the next one starts. A list
 * ends at the first row that was made when its moment had come: no row ends before it is made.
 */
import { erasedAtOnce } from "@messaging-service/core"
import type {
  EndedBefore,
  ErasureStore,
  Mode,
  RetainedWorkspace,
  StoreUnavailable,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { millis, statement, toColumns } from "../database/Sql.ts"
import type { Element, Row } from "../database/Sql.ts"

/** A list of rows: those of a workspace in a mode, or of a webhook endpoint, up to a last id. */
type List = Element<"erase_rows">

type Kind = "attempts" | "callback_attempts" | "events" | "messages"

const eraseRows = statement("erase_rows")

/** From the first list to the end of the last: `list` counts from 1, `after` is the last row looked at. */
const walkAll = Effect.fnUntraced(function* walkAll(
  database: DatabaseService,
  kind: Kind,
  lists: ReadonlyArray<List>,
): Effect.fn.Return<void, StoreUnavailable> {
  const columns = toColumns(lists)
  let cursor = { list: 1, after: 0 }
  while (cursor.list <= lists.length) {
    const [row] = yield* eraseRows.rows(database, {
      ...columns,
      ...cursor,
      kind,
      most: erasedAtOnce,
    })
    if (row === undefined) return
    cursor = { list: row.next_list, after: Number(row.next_after) }
  }
})

const listWorkspaces = statement("erasure.workspaces")
const oldRecipients = statement("erasure.oldRecipients")
/** In the order in which they go. */
const endedRecords = [
  oldRecipients,
  statement("erasure.endedResults"),
  statement("erasure.endedChecks"),
  statement("erasure.endedRuns"),
  statement("erasure.endedReminders"),
  statement("erasure.endedCampaigns"),
  statement("erasure.endedCampaignRows"),
  statement("erasure.erasedCampaigns"),
]
const endpointsOf = statement("erasure.endpoints")
const beyond = statement("erasure.testMessages")

/** One statement counts the test messages of so many workspaces. */
const countedTogether = 20

const removedSessions = statement("erasure.removedSessions")
const removedReports = statement("erasure.removedReports")
const removedBehaviours = statement("erasure.removedBehaviours")
const removedRecipients = statement("erasure.removedRecipients")
const eraseNumbers = statement("erasure.numbers")
const revokedKeys = statement("erasure.revokedKeys")
const removedEndpoints = statement("erasure.removedEndpoints")

const keysOf = statement("erasure.keysOf")
/** What callers have claimed; `ids` are theirs. */
const claims = statement("erasure.claims")
const records = statement("erasure.records")

/**
 * In the order in which they go. What a worker reads now goes once it is done: its lane is
 * closed.
 */
const recordsOf = [
  statement("erasure.checkResults"),
  statement("erasure.checks"),
  statement("erasure.contacts"),
  statement("erasure.reminders"),
  statement("erasure.removedReminders"),
  statement("erasure.campaignRows"),
  statement("erasure.campaigns"),
  statement("erasure.mediaFiles"),
  statement("erasure.endpointsOfWorkspaces"),
  statement("erasure.figures"),
  statement("erasure.windows"),
]

const keysOfWorkspaces = statement("erasure.keysOfWorkspaces")
const eraseWorkspaces = statement("erasure.workspace")

const toWorkspace = (row: Row<"erasure.workspaces">): RetainedWorkspace => ({
  id: Number(row.id) as WorkspaceId,
  retentionDays: row.retention_days,
  deletedAt: millis(row.deleted_at),
})

const listOf =
  (mode: Mode | null) =>
  ({ endedBefore, workspaceId }: EndedBefore): List => ({
    owner: workspaceId,
    mode,
    before: endedBefore,
    lastId: null,
  })

const toTestList = (row: Row<"erasure.testMessages">): List => ({
  owner: Number(row.workspace_id),
  mode: "test",
  before: Infinity,
  lastId: Number(row.id),
})

export const erasureStore = (database: DatabaseService): ErasureStore => ({
  retainedWorkspaces(after, limit) {
    return listWorkspaces.all(database, { after, limit }, toWorkspace)
  },
  eraseEnded: Effect.fnUntraced(function* eraseEnded(workspaces) {
    const live = workspaces.map(listOf("live"))
    yield* walkAll(database, "messages", [...live, ...workspaces.map(listOf("test"))])
    const lists = workspaces.map(listOf(null))
    yield* walkAll(database, "events", lists)
    yield* walkAll(database, "callback_attempts", lists)
    const owners = workspaces.map(({ workspaceId }) => workspaceId)
    const befores = workspaces.map(({ endedBefore }) => endedBefore)
    for (const one of endedRecords) {
      yield* one.untilDone(database, { owners, befores, limit: erasedAtOnce })
    }
    const endedBefore = new Map<number, number>(
      workspaces.map((one) => [one.workspaceId, one.endedBefore]),
    )
    const endpoints = yield* endpointsOf.rows(database, { ids: owners })
    const ofEndpoints = endpoints.map((row) => ({
      owner: Number(row.id),
      mode: null,
      before: endedBefore.get(Number(row.workspace_id)) ?? -Infinity,
      lastId: null,
    }))
    yield* walkAll(database, "attempts", ofEndpoints)
  }),
  eraseTestMessages: Effect.fnUntraced(function* eraseTestMessages(ids, most) {
    for (let at = 0; at < ids.length; at += countedTogether) {
      const some = ids.slice(at, at + countedTogether)
      yield* walkAll(
        database,
        "messages",
        yield* beyond.all(database, { ids: some, most }, toTestList),
      )
    }
  }),
  eraseRemoved: Effect.fnUntraced(function* eraseRemoved({ endpointsBefore, now, sessionsBefore }) {
    const limit = erasedAtOnce
    yield* removedSessions.untilDone(database, { before: sessionsBefore, limit })
    yield* removedReports.untilDone(database, { limit })
    yield* removedBehaviours.untilDone(database, { limit })
    yield* removedRecipients.untilDone(database, { limit })
    yield* eraseNumbers.untilDone(database, { now, limit })
    yield* revokedKeys.untilDone(database, { now, limit: limit / 2 })
    yield* removedEndpoints.untilDone(database, { before: endpointsBefore, limit })
  }),
  eraseDeleted: Effect.fnUntraced(function* eraseDeleted(workspaces, now) {
    const limit = erasedAtOnce
    const ids = workspaces.map(({ id }) => id)
    const keys = yield* keysOf.all(database, { ids }, ({ id }) => Number(id))
    const claimants = [...keys, ...workspaces.flatMap((one) => one.claimants)]
    yield* claims.untilDone(database, { ids: claimants, limit })
    yield* records.untilDone(database, { ids: claimants, limit })
    for (const one of recordsOf) yield* one.untilDone(database, { ids, limit })
    yield* keysOfWorkspaces.untilDone(database, { ids, now, limit: limit / 2 })
    yield* eraseWorkspaces.run(database, { ids, now })
  }),
})
