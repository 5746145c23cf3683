/**
 * Lists of messages in a workspace with many of them: whatever the filter, the statement that
 * the store really sends reads a page's worth of rows. Rows and pages are counted, not time.
 */
import { assert, layer } from "@effect/vitest"
import { everyMessage, sharedLimits, Store, StoreUnavailable } from "@messaging-service/core"
import type {
  MessageFilter,
  MessageId,
  CallerScope,
  NumberId,
  Phone,
  WorkspaceId,
} from "@messaging-service/core"
import { EmbeddedPostgres, aWorkspace, accepted, aStage, bySize } from "@messaging-service/testkit"
import { Context, Effect, Fiber } from "effect"
import type { DatabaseService } from "../src/database/Database.ts"
import { listFor } from "../src/message/messageList.ts"
import { aDatabase, aDatabaseClient, aProcess } from "./databases.ts"
import { rowsRead, getIndexes, assertLookedUp, literal } from "./QueryPlans.ts"
import type { Node } from "./QueryPlans.ts"

/** A page is a thousandth of them and less, so a plan that reads a part of them is seen. */
const messages = bySize({ change: 30_000, all: 300_000, night: 1_000_000 })
const limit = 50
const workspaceId = 1 as WorkspaceId
/** Number 1 has all messages but one in 1,000, which are number 2's; number 3 has none. */
const busy = 1 as NumberId
const rare = 2 as NumberId
const idle = 3 as NumberId
const start = Date.UTC(2026, 0, 1)
const second = 1000
/** The moment of the lists: all is past but what is scheduled. */
const now = start + 2 * messages * second

/**
 * One in 1,000 is not `sent`: in turn delivered, failed, cancelled and waiting; the first three are
 * expired, so few that no sample sees them, and none is read. All went to one phone, but one in 3,000, which has a reference of its own;
 * every second one has the same. The first five are of
 * another workspace and its number.
 */
const load = `
insert into messages (
  id, workspace_id, number_id, created_at, due_at, sent_at, allowance_taken, mode, state, platform,
  from_phone, to_kind, to_phone, text, transport_id, reference
)
select
  place, case when place <= 5 then 2 else 1 end,
  case when place <= 5 then 4 when place % 1000 = 500 then 2 else 1 end, at.moment, at.moment, at.moment, true,
  'live',
  case when place in (11, 12, 13) then 'expired' else case place % 4000 when 0 then 'delivered' when 1000 then 'failed' when 2000 then 'cancelled'
    when 3000 then 'waiting' else 'sent' end end,
  'whatsapp', '15550000001', 'phone',
  case when place % 3000 = 7 then '+15550000007' else '+15551234567' end,
  'Hello', place::text,
  case when place % 2 = 0 then 'spring' when place % 3000 = 7 then 'order 7' end
from generate_series(1, ${messages}) place
cross join lateral (
  select to_timestamp($1::float8 / 1000) + place * interval '1 second' as moment
) at
order by 1`

const lanes = `
insert into lanes (number_id, workspace_id, connected)
select number, case number when 4 then 2 else 1 end, true
from generate_series(1, 4) number`

const numbers = `
insert into numbers (workspace_id, phone, label, platform, status, login_method, created_at)
select case number when 4 then 2 else 1 end, null, '', 'whatsapp', 'connected', 'qr', to_timestamp(0)
from generate_series(1, 4) number`

const workspace = `
insert into workspaces (
  name, demo, account_disabled, api_v2_enabled, admits, plan_reminders, plan_qr_code_api,
  plan_media_storage_bytes, created_at
)
select name, false, false, true, true, false, false, 0, to_timestamp(0)
from unnest(array['Large', 'Small']) name`

/** Fills the table while it has no index but its key: they are built faster afterwards. */
const fill = Effect.fnUntraced(function* (database: DatabaseService) {
  const indexes = yield* database.query<{ readonly name: string; readonly definition: string }>(
    "indexes",
    `select indexname::text as name, indexdef as definition
     from pg_indexes
     where tablename = 'messages' and indexdef not like '%UNIQUE%'`,
  )
  for (const { name } of indexes) yield* database.query("drop", `drop index ${name}`)
  for (const statement of [workspace, numbers, lanes]) yield* database.query("stage", statement)
  yield* database.query("load", load, [start])
  for (const { definition } of indexes) yield* database.query("index", definition)
})

const scope: CallerScope = { workspaceId, mode: "live", restriction: null }

interface Case {
  readonly name: string
  readonly scope?: Partial<CallerScope>
  readonly filter?: Partial<MessageFilter>
  readonly before?: number
  readonly indexes: ReadonlyArray<string>
  /** How many messages the page shows, one more than the limit when there is another page. */
  readonly shown: number
}

const phoneOfAll = "+15551234567" as Phone
const few = "+15550000007" as Phone
const none = "+15550000099" as Phone
const full = limit + 1
const byWorkspace = ["messages_by_workspace"]
const byPhone = ["messages_by_phone", "messages_pkey"]
const byReference = ["messages_by_reference", "messages_pkey"]
const byState = ["messages_by_number_and_state", "messages_by_workspace", "messages_pkey"]
/** Every plan contains it, and it is read where waiting messages are listed. */
const waitingIndex = "messages_waiting"
/** With those that wait. */
const waiting = [...byState, waitingIndex]
const byNumber = ["messages_by_number_and_state", "messages_pkey"]
const byNumberWaiting = [...byNumber, waitingIndex]
const small = { workspaceId: 2 as WorkspaceId } as const
const limited = { restriction: [rare, idle] } as const
const middle = start + (messages / 2) * second

const cases: ReadonlyArray<Case> = [
  { name: "no filter", indexes: byWorkspace, shown: full },
  { name: "a deep page", before: 1000, indexes: byWorkspace, shown: full },
  { name: "a small workspace", scope: small, indexes: byWorkspace, shown: 5 },
  {
    name: "a small workspace's state of none",
    scope: small,
    filter: { statuses: ["failed"] },
    indexes: byState,
    shown: 0,
  },
  { name: "test messages", scope: { mode: "test" }, indexes: byWorkspace, shown: 0 },
  { name: "a state of three", filter: { statuses: ["expired"] }, indexes: byState, shown: 3 },
  { name: "a phone of all", filter: { phone: phoneOfAll }, indexes: byPhone, shown: full },
  { name: "a phone of few", filter: { phone: few }, indexes: byPhone, shown: full },
  { name: "a phone, deep", filter: { phone: few }, before: 15_000, indexes: byPhone, shown: 5 },
  { name: "a phone of none", filter: { phone: none }, indexes: byPhone, shown: 0 },
  {
    name: "a phone of all in a state of none",
    filter: { phone: phoneOfAll, statuses: ["read"] },
    indexes: byPhone,
    shown: 0,
  },
  {
    name: "a phone of none from one number",
    filter: { phone: none, from: busy },
    indexes: byPhone,
    shown: 0,
  },
  {
    name: "a phone of none for a limited key, in a time",
    scope: limited,
    filter: { phone: none, since: middle },
    indexes: byPhone,
    shown: 0,
  },
  {
    name: "a reference of half",
    filter: { reference: "spring" },
    indexes: byReference,
    shown: full,
  },
  {
    name: "a reference of few",
    filter: { reference: "order 7" },
    indexes: byReference,
    shown: full,
  },
  { name: "a reference of none", filter: { reference: "none" }, indexes: byReference, shown: 0 },
  {
    name: "a reference of half in a state of none",
    filter: { reference: "spring", statuses: ["read"] },
    indexes: byReference,
    shown: 0,
  },
  { name: "a state of most", filter: { statuses: ["sent"] }, indexes: byState, shown: full },
  { name: "a state of few", filter: { statuses: ["failed"] }, indexes: byState, shown: full },
  { name: "a state of none", filter: { statuses: ["read"] }, indexes: byState, shown: 0 },
  {
    name: "a state of few, deep",
    filter: { statuses: ["failed"] },
    before: 40_000,
    indexes: byState,
    shown: 10,
  },
  {
    name: "a state of none in a time",
    filter: { statuses: ["read"], since: middle, until: middle + second },
    indexes: byState,
    shown: 0,
  },
  {
    name: "several states",
    filter: { statuses: ["read", "delivered", "failed"] },
    indexes: byState,
    shown: full,
  },
  { name: "a quiet number", filter: { from: idle }, indexes: byNumberWaiting, shown: 0 },
  { name: "a limited key", scope: limited, indexes: byNumberWaiting, shown: full },
  {
    name: "a state of none from one number",
    filter: { statuses: ["read"], from: busy },
    indexes: byNumber,
    shown: 0,
  },
  {
    name: "a state of most from a quiet number",
    filter: { statuses: ["sent"], from: idle },
    indexes: byNumber,
    shown: 0,
  },
  {
    name: "a state of few for a limited key",
    scope: limited,
    filter: { statuses: ["failed"] },
    indexes: byNumber,
    shown: 0,
  },
  { name: "queued", filter: { statuses: ["queued"] }, indexes: waiting, shown: full },
  { name: "scheduled", filter: { statuses: ["scheduled"] }, indexes: waiting, shown: 0 },
  {
    name: "queued or failed",
    filter: { statuses: ["queued", "failed"] },
    indexes: waiting,
    shown: full,
  },
  {
    name: "queued from one number",
    filter: { statuses: ["queued"], from: busy },
    indexes: byNumberWaiting,
    shown: full,
  },
  {
    name: "queued for a limited key",
    scope: limited,
    filter: { statuses: ["queued"] },
    indexes: byNumberWaiting,
    shown: 0,
  },
]

/** All that wait and the newest 1,000, for lists of those; else a page for each of the states. */
const maxRows = 2000
/** For the look-ups of a filter by time and the fall through the trees, too. */
const maxPages = 3000

const explained = (database: DatabaseService, one: Case, options: string) =>
  database.transaction("explain", (run) =>
    Effect.gen(function* () {
      const { list, params } = listFor(
        { ...scope, ...one.scope },
        { ...everyMessage, ...one.filter },
        { before: (one.before ?? null) as MessageId | null, limit },
        now,
      )
      const args = list.bind(params).map(literal)
      yield* run(
        `prepare listed (${args.map(([type]) => type).join(", ")}) as ${list.textFor(params)}`,
      )
      const rows = yield* run<{ readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: Node }> }>(
        `explain (${options}format json) execute listed (${args.map(([, sql]) => sql).join(", ")})`,
      )
      yield* run("deallocate listed")
      return rows[0]!["QUERY PLAN"][0]!.Plan
    }),
  )

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "lists of 300,000 messages",
  (it) => {
    it.effect("read a page's worth of rows, whatever the filter, young or old the database", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const stores = yield* aProcess(database)
        const client = yield* aDatabaseClient(database, { statementMillis: 300_000 })
        for (const one of cases) {
          const plan = yield* explained(client, one, "")
          const planned = getIndexes(plan).filter(
            (name) => name !== waitingIndex || one.indexes.includes(name),
          )
          assert.deepStrictEqual(planned, one.indexes, `${one.name}, in a young database`)
        }
        yield* fill(client)
        const store = Context.get(stores, Store).messages
        const check = Effect.fnUntraced(function* (when: string) {
          for (const one of cases) {
            const plan = yield* explained(client, one, "analyze, buffers, timing off, ")
            const about = `${one.name}, ${when}: ${JSON.stringify(plan)}`
            for (const name of getIndexes(plan)) assert.include(one.indexes, name, about)
            assertLookedUp(plan, about)
            assert.strictEqual(plan["Actual Rows"], one.shown, about)
            assert.isAtMost(rowsRead(plan), maxRows, about)
            const pages = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0)
            assert.isAtMost(pages, maxPages, about)
            const page = yield* store.list(
              { ...scope, ...one.scope },
              { ...everyMessage, ...one.filter },
              { before: (one.before ?? null) as MessageId | null, limit },
              now,
            )
            assert.lengthOf(page.items, Math.min(one.shown, limit), one.name)
          }
        })
        yield* check("before its first analysis")
        yield* client.query("analyze", "analyze messages")
        yield* check("analysed")
      }),
    )

    it.effect(
      "take a few connections of the pool, a workspace fewer, and end in bounded time",
      () =>
        Effect.gen(function* () {
          const database = yield* aDatabase
          const stores = yield* aProcess(database, { listMillis: 2_000 })
          const client = yield* aDatabaseClient(database)
          const stage = yield* Effect.provide(aStage(), stores)
          const other = yield* Effect.provide(aStage(), stores)
          const store = Context.get(stores, Store).messages
          yield* Effect.provide(accepted(stage.number, { count: 3 }), stores)

          /** Connections with a list as their statement, which waits for the table. */
          const reading = Effect.map(
            client.query<{ readonly count: bigint }>(
              "reading",
              `select count(*) as count
             from pg_stat_activity
             where wait_event_type = 'Lock'
               and query like '%order by m.id desc%'`,
            ),
            (rows) => Number(rows[0]?.count ?? 0),
          )
          const listOf = (id: WorkspaceId) =>
            Effect.flip(
              store.list(
                { workspaceId: id, mode: "live", restriction: null },
                everyMessage,
                { before: null, limit },
                now,
              ),
            )
          const { maxConnections } = client
          assert.isAbove(maxConnections, sharedLimits.lists.whole)
          yield* client.transaction("locked", (run) =>
            Effect.gen(function* () {
              yield* run("lock table messages in access exclusive mode")
              const lists = yield* Effect.forkChild(
                Effect.all(
                  Array.from({ length: 60 }, () => listOf(stage.workspace.id)),
                  { concurrency: "unbounded" },
                ),
                { startImmediately: true },
              )
              const { share, whole } = sharedLimits.lists
              const until = (count: number) =>
                Effect.repeat(Effect.orDie(reading), { until: (now) => now === count })
              yield* until(share.most)
              // It stays so while others of its lists had the time to begin.
              yield* Effect.provide(aWorkspace(), stores)
              assert.strictEqual(yield* Effect.orDie(reading), share.most)
              // Both have their shares to ask for, which are more than the whole.
              const others = yield* Effect.forkChild(
                Effect.all(
                  Array.from({ length: share.most }, () => listOf(other.workspace.id)),
                  { concurrency: "unbounded" },
                ),
                { startImmediately: true },
              )
              yield* until(whole)
              // The rest of the pool serves as ever.
              yield* Effect.provide(aWorkspace(), stores)
              assert.strictEqual(yield* Effect.orDie(reading), whole)
              for (const error of [...(yield* Fiber.join(lists)), ...(yield* Fiber.join(others))]) {
                assert.instanceOf(error, StoreUnavailable)
                assert.isNumber(error.retryAfter)
              }
            }).pipe(Effect.orDie),
          )
          // What gave up holds no place and no connection.
          const page = yield* store.list(
            { workspaceId: stage.workspace.id, mode: "live", restriction: null },
            everyMessage,
            { before: null, limit },
            now,
          )
          assert.lengthOf(page.items, 3)
        }),
    )
  },
)
