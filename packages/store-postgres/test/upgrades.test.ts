/** What becomes of what an earlier version wrote, and of servers of that version that are still at work. */
import { assert, layer } from "@effect/vitest"
import {
  Ids,
  LaneQueue,
  NumberStore,
  Secrets,
  SecretsKey,
  SigningSecrets,
  WebhookStore,
  WorkStatus,
  dailyQuota,
  plainSecretNames,
  secretOfSalt,
} from "@messaging-service/core"
import type { NumberId, WorkspaceId } from "@messaging-service/core"
import { EmbeddedPostgres, delivering, noon } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { Database } from "../src/database/Database.ts"
import { initial } from "../src/migrations/0001_initial.ts"
import { callbackLanes } from "../src/migrations/0015_callback_lanes.ts"
import { pacing } from "../src/migrations/0021_pacing.ts"
import { pausesBehind } from "../src/migrations/0024_pauses_behind.ts"
import { migrations } from "../src/migrations/index.ts"
import { migrate } from "../src/migrations/migrate.ts"
import { aDatabase, aDoor, aProcess, everythingIn } from "./databases.ts"
import { firstData } from "./firstVersion.ts"

/** So many seconds after noon, in SQL. */
const at = (seconds: number): string =>
  `timestamptz '${new Date(noon + seconds * 1000).toISOString()}'`

layer(EmbeddedPostgres.layer(), { excludeTestServices: true, timeout: "60 seconds" })(
  "upgrades",
  (it) => {
    it.effect("a live number of the version before is paced from then on, others are not", () =>
      Effect.gen(function* () {
        const door = yield* aDoor(yield* aDatabase)
        yield* Effect.gen(function* () {
          yield* migrate([initial], [])
          for (const text of firstData) yield* door.query("first version", text)
          yield* migrate(migrations.slice(0, pacing.id - 1), [])
          yield* door.query("link", "insert into sessions values (1, 'sealed')")
          yield* door.query("other", firstData[2] ?? "")
          yield* door.query("other", "insert into lanes values (2, 1, true)")
          yield* migrate([pacing], [])
        }).pipe(Effect.provideService(Database, door))
        const rows = yield* door.query("paced", "select pacing from lanes order by number_id")
        assert.deepStrictEqual<unknown>(rows, [
          { pacing: [1000, 2000, 20, 300, null] },
          { pacing: null },
        ])
      }),
    )

    it.effect("a pause of the version before stands, beside the operator's that comes later", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const door = yield* aDoor(database)
        yield* Effect.gen(function* () {
          yield* migrate([initial], [])
          for (const text of firstData) yield* door.query("first version", text)
          yield* migrate(migrations.slice(0, pausesBehind.id - 1), [])
          yield* door.query(
            "pause",
            `update lanes set paused_until = ${at(3600)}, pause_reason = 'restricted'`,
          )
        }).pipe(Effect.provideService(Database, door))
        const stores = yield* aProcess(database)
        yield* Effect.gen(function* () {
          const lanes = yield* LaneQueue
          const paused = (until: number | null) =>
            Effect.gen(function* () {
              yield* lanes.pause(1 as NumberId, { until, reason: "paused" }, noon)
              const store = yield* NumberStore
              return (yield* store.connection(1 as WorkspaceId, 1 as NumberId, noon, dailyQuota))
                ?.pause
            })
          assert.deepStrictEqual(yield* paused(null), { until: null, reason: "paused" })
          assert.deepStrictEqual(yield* paused(noon + 1000), {
            until: noon + 3_600_000,
            reason: "restricted",
          })
          // A server of the version before resumes what counts, and knows of nothing else.
          yield* door.query("resume", "update lanes set paused_until = null, pause_reason = null")
          assert.deepStrictEqual(yield* paused(noon + 2000), {
            until: noon + 2000,
            reason: "paused",
          })
        }).pipe(Effect.provide(stores))
      }),
    )

    it.effect("callbacks of the version before are made once, which may still be at work", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const door = yield* aDoor(database)
        const inDatabase = Effect.provideService(Database, door)
        yield* inDatabase(migrate([initial], []))
        for (const statement of firstData) yield* door.query("first version", statement)
        yield* inDatabase(
          migrate(
            migrations.filter(({ id }) => id < callbackLanes.id),
            [],
          ),
        )
        const write = (event: string, given: Readonly<Record<string, string>> = {}) => {
          const columns = {
            workspace_id: "1",
            target: "'https://example.com'",
            url: "'https://example.com/told'",
            event_id: `'${event}'`,
            body: "'msg_id=1&status=FAILED&error=No'",
            due_at: at(0),
            ...given,
          }
          const names = Object.keys(columns).join(", ")
          const values = Object.values(columns).join(", ")
          return door.query("write", `insert into callbacks (${names}) values (${values})`)
        }
        const held = { lease: "3", lease_until: at(20) }
        yield* write("due")
        yield* write("parked", { parked: "true" })
        yield* write("retried", { attempts: "2", due_at: at(60) })
        yield* write("held", held)
        yield* write("abandoned", held)
        yield* write("connected", { body: "'event=connected&whatsapp_client=1'", due_at: at(90) })

        const stores = yield* aProcess(database)
        yield* Effect.gen(function* () {
          const claim = (seconds: number) => delivering.claimDue({ now: noon + seconds * 1000 })
          const nextDue = WorkStatus.use((status) => status.nextDue("deliveries"))
          const madeAt = (seconds: number) =>
            Effect.gen(function* () {
              const claimed = yield* claim(seconds)
              yield* delivering.settleDeliveries(
                ...claimed.map((each) => delivering.delivered(each)),
              )
              assert.deepStrictEqual(yield* claim(seconds), [])
              return claimed.map(({ attempt, eventId }) => `${eventId} ${attempt}`).toSorted()
            })

          assert.deepStrictEqual(yield* madeAt(0), ["due 1", "parked 1"])
          assert.strictEqual(yield* nextDue, noon + 20_000)
          // A server of the version before settles what it holds, and one of its own writes more.
          yield* door.query("settle", "delete from callbacks where event_id = 'held'")
          yield* write("written", { due_at: at(1) })
          assert.strictEqual(yield* nextDue, noon + 1000)
          assert.deepStrictEqual(yield* madeAt(1), ["written 1"])
          // What it claims is its own until the lease is over, or until it put it off.
          yield* write("claimed", { ...held, due_at: at(2) })
          assert.deepStrictEqual(yield* madeAt(2), [])
          yield* door.query(
            "put off",
            `update callbacks set attempts = 1, due_at = ${at(10)}, lease_until = null
             where event_id = 'claimed'`,
          )
          assert.deepStrictEqual(yield* madeAt(9), [])
          assert.deepStrictEqual(yield* madeAt(10), ["claimed 2"])
          assert.deepStrictEqual(yield* madeAt(20), ["abandoned 1"])
          assert.deepStrictEqual(yield* madeAt(60), ["retried 3"])
          assert.deepStrictEqual(yield* madeAt(90), ["connected 1"])
          assert.isNull(yield* nextDue)
          const log = yield* WebhookStore.use((store) =>
            store.callbackAttempts(1 as WorkspaceId, { before: null, limit: 9 }),
          )
          assert.deepStrictEqual(
            log.items.map(({ type }) => type),
            ["connected", ...Array.from({ length: 6 }, () => "message.failed" as const)],
          )
        }).pipe(Effect.provide(stores))
      }),
    )

    it.effect(
      "what an earlier version signed with goes on signing, and is nowhere in the clear",
      () =>
        Effect.gen(function* () {
          const database = yield* aDatabase
          const door = yield* aDoor(database)
          const earlier = migrations.filter(({ id }) => id < 9)
          yield* Effect.provideService(migrate(earlier, []), Database, door)
          const plain = "0123456789abcdef".repeat(4)
          for (const name of plainSecretNames) {
            yield* door.query(
              "store",
              `insert into service_secrets (name, value) values ($1, $2)`,
              [name, plain],
            )
          }
          const stores = yield* aProcess(database)
          const start = Effect.provide(
            SigningSecrets,
            SigningSecrets.layer.pipe(
              Layer.provide(Secrets.layer),
              Layer.provide([SecretsKey.layerHex("5e".repeat(32)), Ids.layerRandom]),
              Layer.provide(Layer.succeedContext(stores)),
            ),
          )
          for (const secrets of yield* Effect.all([start, start, start], {
            concurrency: "unbounded",
          })) {
            assert.strictEqual(secrets.webhooks.of("salt"), secretOfSalt(plain, "salt"))
            assert.strictEqual(secrets.callbacks.of("salt"), secretOfSalt(plain, "salt"))
          }
          assert.notInclude(yield* everythingIn(door), plain)
          // A server of the version before would make another, and sign with that.
          const again = yield* Effect.flip(
            door.query(
              "again",
              `insert into service_secrets (name, value) values ('signing-key', 'another')
             on conflict (name) do update set name = excluded.name`,
            ),
          )
          assert.match(JSON.stringify(again.cause), /refuse_plain_secret/)
        }),
    )
  },
)
