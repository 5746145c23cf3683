/** Figures by hour while others write, and what reading them reads. */
import { assert, layer } from "@effect/vitest"
import { countFigures, figureStreams, readSpan, Store, tallyFigures } from "@messaging-service/core"
import type { FigureStream, WorkspaceId } from "@messaging-service/core"
import { EmbeddedPostgres, accepted, aStage, delivering, noon } from "@messaging-service/testkit"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { layer as layerStores } from "../src/index.ts"
import { aBareDatabase, aMigratedDatabase, aDatabaseClient, aProcess } from "./databases.ts"
import { anExplainingPool, rowsRead } from "./QueryPlans.ts"
import type { Explained } from "./QueryPlans.ts"

/** A row of each stream at that time; `$1` is the workspace. */
const inserts: Readonly<Record<FigureStream, string>> = {
  messages: `
    insert into messages (
      workspace_id, number_id, created_at, due_at, allowance_taken, mode, state, platform, to_kind,
      text, transport_id
    )
    values ($1, 1, '2026-03-02T12:00:00Z', 'infinity', false, 'live', 'sent', 'whatsapp', 'phone',
      'Hello', random()::text)`,
  events: `
    insert into outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
    values ($1, 1, '2026-03-02T12:00:00Z', random()::text, 'message.cancelled', 'live', '{}')`,
  attempts: `
    insert into webhook_attempts (
      endpoint_id, attempted_at, duration_millis, attempt, event_id, type
    )
    select e.id, '2026-03-02T12:00:00Z', 1, 1, 'evt', 'message.sent'
    from webhook_endpoints e
    where e.workspace_id = $1`,
}

const hours = (workspaceId: WorkspaceId) =>
  Effect.flatMap(Store, ({ figures }) =>
    Effect.map(
      figures.hours({ workspaceId, mode: "live", from: 0, until: noon + 86_400_000 }),
      (found) => found.hours.map((one) => [one.accepted, one.cancelled, one.deliveries]),
    ),
  )

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "figures while others write",
  (it) => {
    it.effect("count what took an earlier position and committed late, once", () =>
      Effect.gen(function* () {
        const database = yield* aMigratedDatabase()
        const stores = yield* aProcess(database)
        const client = yield* aDatabaseClient(database)
        yield* Effect.gen(function* () {
          const { key, workspace } = yield* delivering.aStageWithKey()
          yield* delivering.anEndpoint(key)
          const taken = yield* Deferred.make<void>()
          const ends = yield* Deferred.make<void>()
          const slow = yield* Effect.forkChild(
            client.transaction("slow", (run) =>
              Effect.gen(function* () {
                yield* run("select pg_current_xact_id()::text")
                for (const stream of figureStreams) yield* run(inserts[stream], [workspace.id])
                yield* Deferred.succeed(taken, undefined)
                yield* Deferred.await(ends)
              }),
            ),
          )
          yield* Deferred.await(taken)
          for (const stream of figureStreams) {
            yield* client.query(stream, inserts[stream], [workspace.id])
          }
          yield* countFigures
          yield* countFigures
          const meanwhile = yield* hours(workspace.id)
          const { figures } = Context.get(stores, Store)
          const shown = yield* readSpan(
            figures,
            { workspaceId: workspace.id, mode: "live" },
            "24h",
            noon,
          )
          yield* Deferred.succeed(ends, undefined)
          yield* Fiber.join(slow)
          yield* countFigures
          yield* countFigures
          assert.deepStrictEqual(meanwhile, [])
          const last = shown.buckets.at(-1)
          assert.deepStrictEqual([last?.accepted, last?.cancelled, last?.deliveries], [1, 1, 1])
          assert.deepStrictEqual(yield* hours(workspace.id), [[2, 2, 2]])
        }).pipe(Effect.provide(stores), Effect.scoped)
      }),
    )

    it.effect("stay exact in a store that went back in time", () =>
      Effect.gen(function* () {
        const stores = yield* aProcess(yield* aMigratedDatabase())
        yield* Effect.gen(function* () {
          const { system } = yield* Store
          const { number, workspace } = yield* aStage()
          yield* accepted(number, { count: 2 })
          yield* countFigures
          const uncounted = yield* accepted(number, { count: 3 })
          const { epoch } = yield* system.epoch
          assert.isNotNull(yield* system.startEpoch({ epoch, above: 10_000_000, now: noon }))
          const later = yield* accepted(number, { count: 4 })
          assert.isAbove(later[0]?.id ?? 0, (uncounted.at(-1)?.id ?? 0) + 1000)
          yield* countFigures
          yield* countFigures
          assert.deepStrictEqual(yield* hours(workspace.id), [[9, 0, 0]])
        }).pipe(Effect.provide(stores))
      }),
    )

    it.effect("count once, whatever process counts", () =>
      Effect.gen(function* () {
        const database = yield* aMigratedDatabase()
        const processes = [yield* aProcess(database), yield* aProcess(database)]
        const [first, second] = processes.map((one) => Context.get(one, Store))
        assert.isDefined(first)
        assert.isDefined(second)
        yield* Effect.gen(function* () {
          const { number, workspace } = yield* aStage()
          const countBy = (store: typeof first) => Effect.provideService(countFigures, Store, store)
          for (let round = 0; round < 20; round++) {
            yield* Effect.all([accepted(number, { count: 3 }), countBy(first), countBy(second)], {
              concurrency: "unbounded",
            })
          }
          const { entries, from, to } = yield* first.figures.readUncounted("messages", 100)
          yield* Effect.all(
            [first, second].map((store) =>
              store.figures.count("messages", { from, to }, tallyFigures(entries)),
            ),
            { concurrency: "unbounded" },
          )
          yield* countFigures
          assert.deepStrictEqual(yield* hours(workspace.id), [[60, 0, 0]])
        }).pipe(Effect.provideService(Store, first))
      }),
    )
  },
)

const past = 20_000

/** Long counted, of that workspace, with rows of others between them. */
const history = [
  `
insert into messaging.messages (
  workspace_id, number_id, created_at, due_at, sent_at, allowance_taken, mode, state, platform,
  to_kind, text, transport_id
)
select
  case when place % 2 = 0 then w.id else 1000 end, 1000, at.moment, at.moment, at.moment, false,
  'live', 'sent', 'whatsapp', 'phone', 'Hello', place::text
from messaging.workspaces w
cross join generate_series(1, ${past}) place
cross join lateral (
  select timestamptz '2025-01-01' + place * interval '1 second' as moment
) at`,
  `
insert into messaging.outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
select
  case when place % 2 = 0 then w.id else 1000 end, place, timestamptz '2025-01-01', place::text,
  'message.sent', 'live', '{}'
from messaging.workspaces w
cross join generate_series(1, ${past}) place`,
  `
insert into messaging.webhook_attempts (
  endpoint_id, attempted_at, duration_millis, attempt, event_id, type
)
select case when place % 2 = 0 then e.id else 1000 end, '2025-01-01', 1, 1, 'evt', 'message.sent'
from messaging.webhook_endpoints e
cross join generate_series(1, ${past}) place`,
  `
insert into messaging.hourly_figures (
  workspace_id, mode, hour, accepted, sent, failed, expired, cancelled, deliveries,
  deliveries_failed, failures, waits
)
select 1000 + other, 'live', timestamptz '2026-03-02' - place * interval '1 hour', 1, 1, 0, 0, 0, 0,
  0, '{}', '{}'
from generate_series(1, 1000) place
cross join generate_series(1, 10) other`,
]

const found = (plans: ReadonlyArray<Explained>, pattern: RegExp): ReadonlyArray<string> => [
  ...new Set(
    plans.flatMap(({ Plan }) =>
      [...JSON.stringify(Plan).matchAll(pattern)].map(([, name = ""]) => name),
    ),
  ),
]

const getNames = (plans: ReadonlyArray<Explained>, field: string) =>
  found(plans, new RegExp(`"${field}":"([^"]+)"`, "g")).toSorted()

/** Tables that are read from one end to the other. */
const scannedIn = (plans: ReadonlyArray<Explained>) =>
  found(plans, /"Node Type":"Seq Scan"[^{}]*?"Relation Name":"([^"]+)"/g)

layer(EmbeddedPostgres.layer({ settings: { autovacuum: "off" } }), {
  excludeTestServices: true,
})("what figures read", (it) => {
  it.effect("is the rows of their hours and what is not counted, however long the past", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      const client = yield* aDatabaseClient(database)
      const { readPlans, pool } = yield* anExplainingPool(database)
      const stores = yield* Layer.build(layerStores({ pool }))
      yield* Effect.gen(function* () {
        const { key, number, workspace } = yield* delivering.aStageWithKey()
        yield* delivering.anEndpoint(key)
        for (const [index, text] of history.entries()) yield* client.query(`past ${index}`, text)
        yield* countFigures
        yield* client.query("analysed", "vacuum analyze")
        yield* accepted(number, { count: 3 })
        const query = { workspaceId: workspace.id, mode: "live" as const }
        const { figures } = yield* Store
        const read = readPlans(
          Effect.all([
            readSpan(figures, query, "30d", noon),
            figures.presentFigures({ ...query, now: noon, countAtMost: 50_000 }),
          ]),
        )
        const count = readPlans(countFigures)
        const reading = yield* read
        const counting = yield* count
        for (const plans of [reading, counting]) {
          assert.isAtMost(
            plans.reduce((sum, { Plan }) => sum + rowsRead(Plan), 0),
            30,
          )
        }
        assert.deepStrictEqual(getNames(reading, "Index Name"), [
          "hourly_figures_pkey",
          "media_usage_pkey",
          "messages_by_workspace",
          "messages_pkey",
          "messages_waiting",
          "numbers_ever_by_workspace",
          "outbox_by_workspace",
          "webhook_attempts_by_endpoint",
          "webhook_endpoints_ever_by_workspace",
        ])
        for (const scanned of [reading, counting].map(scannedIn)) {
          assert.isTrue(
            scanned.every((name) => name === "figure_places"),
            scanned.join(", "),
          )
        }
      }).pipe(Effect.provide(stores), Effect.scoped)
    }),
  )
})
