/**
 * Erasing what has outlived its retention. Each statement walks lists of rows (the messages, events or
 * attempts of one workspace) from the oldest, erases a few, and says where the next one goes on. A list
 * ends at the first row that was made when its moment had come: no row ends before it is made.
 */
import { sqlFiles } from "../sql.generated.ts"
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
import { bigint, bigints, instant, integer, millis, text } from "../database/Fields.ts"
import type { Kind } from "../database/Fields.ts"
import { call, each, given, joined, part, sqlFunction, statement } from "../database/Statement.ts"
import type { Statement } from "../database/Statement.ts"

/** Whose rows a list holds: those of a workspace in a mode, or of a webhook endpoint. */
interface List {
  readonly owner: number
  readonly mode: Mode | null
  readonly before: number
  /** The last id that may go; null for any. */
  readonly lastId: number | null
}

/** Where a statement stopped: a list, from 1, and the last row of it that was looked at. */
interface Place {
  readonly list: number
  readonly after: number
}

const walking = joined(
  part(
    "lists",
    each({
      p_owner: bigint((list: List) => list.owner),
      p_mode: text((list: List) => list.mode),
      p_before: instant((list: List) => list.before),
      p_last_id: bigint((list: List) => list.lastId),
    }),
  ),
  part(
    "place",
    given({ list: integer, after: bigint }, (name) => `p_${name}`),
  ),
  given({ most: integer }, (name) => `p_${name}`),
)

const eraseMessages = sqlFunction("erase_messages", walking)
const eraseEvents = sqlFunction("erase_events", walking)
const eraseAttempts = sqlFunction("erase_attempts", walking)
const eraseCallbackAttempts = sqlFunction("erase_callback_attempts", walking)

const oldRecipients = statement(
  "erasure.recipients",
  joined(
    part(
      "lists",
      each({
        owners: bigint((list: List) => list.owner),
        befores: instant((list: List) => list.before),
      }),
    ),
    given({ limit: integer }),
  ),
)(sqlFiles["statements/workspace/old-recipients.sql"])

interface PlaceRow {
  readonly next_list: number
  readonly next_after: bigint
}

/** From the first list to the end of the last. */
const walkAll = (
  database: DatabaseService,
  walked: Statement<{
    readonly lists: ReadonlyArray<List>
    readonly place: Place
    readonly most: number
  }>,
  lists: ReadonlyArray<List>,
): Effect.Effect<void, StoreUnavailable> =>
  Effect.gen(function* () {
    let place: Place = { list: 1, after: 0 }
    while (place.list <= lists.length) {
      const [row] = yield* walked.rows<PlaceRow>(database, { lists, place, most: erasedAtOnce })
      if (row === undefined) return
      place = { list: row.next_list, after: Number(row.next_after) }
    }
  })

const listWorkspaces = statement(
  "erasure.workspaces",
  given({ after: bigint, limit: integer }),
)(sqlFiles["statements/workspace/list-workspaces.sql"])

interface WorkspaceRow {
  readonly id: bigint
  readonly retention_days: number | null
  readonly deleted_at: Date | null
}

const toWorkspace = (row: WorkspaceRow): RetainedWorkspace => ({
  id: Number(row.id) as WorkspaceId,
  retentionDays: row.retention_days,
  deletedAt: millis(row.deleted_at),
})

const endpointsOf = statement(
  "erasure.endpoints",
  given({ ids: bigints }),
)(sqlFiles["statements/workspace/endpoints-of.sql"])

interface EndpointRow {
  readonly id: bigint
  readonly workspace_id: bigint
}

const beyond = statement(
  "erasure.testMessages",
  given({ ids: bigints, most: bigint }),
)(sqlFiles["statements/workspace/beyond.sql"])

interface BeyondRow {
  readonly workspace_id: bigint
  readonly id: bigint
}

/** Workspaces whose test messages one statement counts. */
const countedTogether = 20

const messages = call("erasure.messages", eraseMessages)
const events = call("erasure.events", eraseEvents)
const attempts = call("erasure.attempts", eraseAttempts)
const callbackAttempts = call("erasure.callbackAttempts", eraseCallbackAttempts)

/** Deletes the rows that `where` finds, a few at a time; `found` is the table in it. */
const eraseRows = <const Kinds extends Readonly<Record<string, Kind<never>>>>(
  table: string,
  key: ReadonlyArray<string>,
  kinds: Kinds,
  where: string,
  join = "",
) =>
  statement(`erasure.${table}`, joined(given(kinds), given({ limit: integer })))`
delete from ${table} gone
using (
  select ${key.map((name) => `found.${name}`).join(", ")}
  from ${table} found${join}
  where ${where}
  limit $limit
) found
where ${key.map((name) => `gone.${name} = found.${name}`).join("\n  and ")}
returning gone.${key[0] ?? ""}`

/** Of deleted workspaces. */
const ofWorkspaces = { ids: bigints }
const isOfThem = "found.workspace_id = any ($ids)"

/** In the words of the index numbers_to_erase: removed, and not erased yet. */
const isToErase = "n.removed_at is not null\n    and n.erased_at is null"

/** Index messages_waiting. A message that waits shows its number's phone. */
const nothingWaits = `not exists (
    select
    from messages m
    where m.number_id = n.id
      and m.state = 'waiting'
  )`

const ofRemoved = (table: string, key: ReadonlyArray<string>) =>
  eraseRows(
    table,
    key,
    {},
    `${isToErase}\n    and ${nothingWaits}`,
    "\n  join numbers n on n.id = found.number_id",
  )

const removedReports = ofRemoved("connection_reports", ["number_id"])
const removedBehaviours = ofRemoved("simulated_behaviours", ["number_id"])
const removedRecipients = ofRemoved("lane_recipients", ["number_id", "recipient"])

const eraseNumbers = statement(
  "erasure.numbers",
  given({ now: instant, limit: integer }),
)(sqlFiles["statements/workspace/erase-numbers.sql"])

const removedSessions = eraseRows(
  "sessions",
  ["number_id"],
  { before: instant },
  "l.removed_at < $before",
  "\n  join lanes l on l.number_id = found.number_id",
)

/** Of revoked keys, or of all keys of deleted workspaces. */
const eraseKeys = (operation: string, which: string, alsoSet = "") =>
  statement(operation, given({ ...ofWorkspaces, now: instant, limit: integer }))`
with gone as materialized (
  select k.id
  from api_keys k
  where k.erased_at is null
    and ${which}
  order by k.id
  limit $limit
),
forgotten as (
  update key_windows u
  set last_used_ip = null
  from gone
  where u.key_id = gone.id
)
update api_keys k
set name = '',
  erased_at = $now${alsoSet}
from gone
where k.id = gone.id
returning k.id`

// Index api_keys_to_erase.
const revokedKeys = eraseKeys("erasure.revokedKeys", "k.revoked_at is not null")

const removedEndpoints = statement(
  "erasure.removedEndpoints",
  given({ before: instant, limit: integer }),
)(sqlFiles["statements/workspace/removed-endpoints.sql"])

// Index api_keys_by_workspace.
const keysOf = statement("erasure.keysOf", given(ofWorkspaces))`
select k.id
from api_keys k
where k.workspace_id = any ($ids)`

// The hash stays: a key of a deleted workspace is refused as revoked.
const keysOfWorkspaces = eraseKeys(
  "erasure.keys",
  "k.workspace_id = any ($ids)",
  `,
  last4 = '',
  scopes = '{}',
  number_ids = null`,
)

/** What callers have claimed; `ids` are theirs. */
const claimed = (table: string) =>
  eraseRows(table, ["key_id", "key"], ofWorkspaces, "found.key_id = any ($ids)")

const claims = claimed("idempotency_claims")
const records = claimed("idempotency_records")

/**
 * In the order in which they go. What a worker asks for at the moment goes once it is done: its lane is
 * closed.
 */
const recordsOf = [
  eraseRows(
    "number_check_results",
    ["id"],
    ofWorkspaces,
    "c.workspace_id = any ($ids)\n    and c.completed_at is not null",
    "\n  join number_checks c on c.id = found.check_id",
  ),
  eraseRows(
    "number_checks",
    ["id"],
    ofWorkspaces,
    `${isOfThem}\n    and found.completed_at is not null`,
  ),
  eraseRows("contacts", ["id"], ofWorkspaces, isOfThem),
  // Index reminders_by_workspace, then reminders_removed.
  eraseRows("reminders", ["id"], ofWorkspaces, `${isOfThem}\n    and found.removed_at is null`),
  eraseRows("reminders", ["id"], ofWorkspaces, `${isOfThem}\n    and found.removed_at is not null`),
  // Index media_files_remembered.
  eraseRows(
    "media_files",
    ["id"],
    ofWorkspaces,
    `${isOfThem}\n    and :code.is_file_ended(found)\n    and not found.has_bytes`,
  ),
  // Its attempts went before it.
  eraseRows("webhook_endpoints", ["id"], ofWorkspaces, isOfThem),
  eraseRows("workspace_windows", ["workspace_id"], ofWorkspaces, isOfThem),
]

const eraseWorkspaces = statement(
  "erasure.workspace",
  given({ ...ofWorkspaces, now: instant }),
)(sqlFiles["statements/workspace/erase-workspaces.sql"])

export const erasureStore = (database: DatabaseService): typeof ErasureStore.Service => ({
  workspaces: (after, limit) => listWorkspaces.all(database, { after, limit }, toWorkspace),
  eraseEnded: (workspaces) =>
    Effect.gen(function* () {
      const listOf =
        (mode: Mode | null) =>
        ({ endedBefore, workspaceId }: EndedBefore): List => ({
          owner: workspaceId,
          mode,
          before: endedBefore,
          lastId: null,
        })
      yield* walkAll(database, messages, [
        ...workspaces.map(listOf("live")),
        ...workspaces.map(listOf("test")),
      ])
      const lists = workspaces.map(listOf(null))
      yield* walkAll(database, events, lists)
      yield* walkAll(database, callbackAttempts, lists)
      yield* oldRecipients.untilDone(database, { lists, limit: erasedAtOnce })
      const befores = new Map(lists.map(({ before, owner }) => [owner, before]))
      const endpoints = yield* endpointsOf.rows<EndpointRow>(database, { ids: [...befores.keys()] })
      const ofEndpoints = endpoints.map((row) => ({
        owner: Number(row.id),
        mode: null,
        before: befores.get(Number(row.workspace_id)) ?? -Infinity,
        lastId: null,
      }))
      yield* walkAll(database, attempts, ofEndpoints)
    }),
  eraseTestMessages: (ids, most) =>
    Effect.gen(function* () {
      for (let at = 0; at < ids.length; at += countedTogether) {
        const some = ids.slice(at, at + countedTogether)
        const lists = yield* beyond.all(database, { ids: some, most }, (row: BeyondRow): List => ({
          owner: Number(row.workspace_id),
          mode: "test",
          before: Infinity,
          lastId: Number(row.id),
        }))
        yield* walkAll(database, messages, lists)
      }
    }),
  eraseRemoved: ({ endpointsBefore, now, sessionsBefore }) =>
    Effect.gen(function* () {
      const limit = erasedAtOnce
      yield* removedSessions.untilDone(database, { before: sessionsBefore, limit })
      yield* removedReports.untilDone(database, { limit })
      yield* removedBehaviours.untilDone(database, { limit })
      yield* removedRecipients.untilDone(database, { limit })
      yield* eraseNumbers.untilDone(database, { now, limit })
      yield* revokedKeys.untilDone(database, { ids: [], now, limit: limit / 2 })
      yield* removedEndpoints.untilDone(database, { before: endpointsBefore, limit })
    }),
  eraseDeleted: (workspaces, now) =>
    Effect.gen(function* () {
      const limit = erasedAtOnce
      const ids = workspaces.map(({ id }) => id)
      const keys = yield* keysOf.all(database, { ids }, ({ id }: { readonly id: bigint }) =>
        Number(id),
      )
      const claimants = [...keys, ...workspaces.flatMap((one) => one.claimants)]
      yield* claims.untilDone(database, { ids: claimants, limit })
      yield* records.untilDone(database, { ids: claimants, limit })
      for (const one of recordsOf) yield* one.untilDone(database, { ids, limit })
      yield* keysOfWorkspaces.untilDone(database, { ids, now, limit: limit / 2 })
      yield* eraseWorkspaces.run(database, { ids, now })
    }),
})
