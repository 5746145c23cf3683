/**
 * The promise under SIGKILL: the HTTP process and two workers die at random moments while messages
 * are accepted, scheduled, batched, cancelled and repeated; afterwards every acknowledged message
 * has exactly one outcome, no copy reached a recipient twice, no cancelled one left, and the sums
 * are right. `CRASH_KILLS` makes it longer, `CRASH_SEED` repeats one.
 */
import { assert, it } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Effect, Fiber, Layer, Random, Ref } from "effect"
import { aSender, emptyLedger, oneRequest, scheduleAndCancel } from "./crash/Clients.ts"
import { members, startCluster } from "./crash/Cluster.ts"
import { checkAccounts } from "./crash/accounts.ts"

const kills = Number(process.env["CRASH_KILLS"] ?? 20)
const seed = process.env["CRASH_SEED"] ?? String(Date.now())

const clients = 6

const storm = Effect.gen(function* () {
  const cluster = yield* startCluster
  const senders = yield* Effect.replicateEffect(aSender(cluster), 6)
  const ledger = emptyLedger()
  const over = yield* Ref.make(false)

  const client = oneRequest(cluster, senders, ledger).pipe(
    Effect.repeat({ while: () => Effect.map(Ref.get(over), (ended) => !ended) }),
  )
  const fibers = yield* Effect.forEach(Array.from({ length: clients }), () =>
    Effect.forkScoped(client),
  )
  const dropping = Effect.gen(function* () {
    for (const { numberIds } of senders) {
      yield* cluster.operate("PUT", `/admin/v1/simulator/numbers/${numberIds[2]}/behaviour`, {
        send: "drop",
      })
    }
    yield* Effect.sleep("3 seconds")
  })
  const breaking = yield* Effect.forkScoped(Effect.forever(dropping))

  const cancels: Array<Fiber.Fiber<void>> = []
  for (let killed = 0; killed < kills; killed++) {
    yield* Effect.sleep(yield* Random.nextIntBetween(200, 1000))
    const victim = members[yield* Random.nextIntBetween(0, members.length - 1)] ?? "server"
    if (victim === "server") {
      // A server that dies while it starts accepts nothing; workers die whenever chance wants it.
      yield* cluster.ready(victim)
      yield* Effect.sleep(yield* Random.nextIntBetween(0, 1000))
    }
    const sender = senders[killed % senders.length]
    if (sender !== undefined) {
      cancels.push(yield* Effect.forkScoped(scheduleAndCancel(cluster, sender, ledger)))
    }
    yield* cluster.kill(victim)
  }

  yield* Ref.set(over, true)
  yield* Fiber.joinAll([...fibers, ...cancels])
  yield* Fiber.interrupt(breaking)
  yield* cluster.allReady
  // Leases of the dead run out, and what was scheduled falls due.
  const advanced = yield* cluster.operate("POST", "/admin/v1/simulator/clock/advance", {
    seconds: 300,
  })
  assert.strictEqual(advanced.status, 200, JSON.stringify(advanced.body))
  yield* cluster.operate("POST", "/admin/v1/simulator/settle")

  const { database, path, username } = cluster.database
  const states = yield* checkAccounts(ledger).pipe(
    Effect.provide(PgClient.layer({ database, path, username })),
  )
  yield* Effect.logInfo(`${kills} kills, seed ${seed}`, {
    acknowledged: ledger.accepted.size,
    cancelled: ledger.cancelled.size,
    ...states,
  })
  // A storm in which nothing happened proves nothing.
  assert.isAbove(ledger.accepted.size, kills * 3)
  assert.isAbove(ledger.cancelled.size, 0)
  assert.isAbove(states["sent"] ?? 0, 0)
})

it.live(
  `${kills} kills lose nothing and send nothing twice (seed ${seed})`,
  () =>
    storm.pipe(
      Effect.scoped,
      Random.withSeed(seed),
      Effect.provide(EmbeddedPostgres.layer() as Layer.Layer<EmbeddedPostgres>),
    ),
  { timeout: 60_000 + kills * 6000 },
)
