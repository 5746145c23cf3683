/** Programs that send inside transactions of their own: each is a client of `pg`, separate from the stores' own connections. */
import {
  Caller,
  Egress,
  Ids,
  MediaLinks,
  Messages,
  Readiness,
  layerStoredSecrets,
  SecretsKey,
  WorkGate,
  Store,
} from "@messaging-service/core"
import type { IdempotencyKey, MessageId, Plan, TransactionClient } from "@messaging-service/core"
import { aNumber, aPlan, aWorkspace, noon, remaining } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { dirname } from "node:path"
import { Client } from "pg"
import type { DatabaseOptions } from "../src/database/Connection.ts"
import { layer as layerPostgres, layerWakeUp } from "../src/index.ts"
import { aDatabase, aProcess, toOptions } from "./databases.ts"

/** Open, and never closed. */
const layerGate = WorkGate.layer.pipe(
  Layer.provide(Layer.mock(Readiness, { raise: () => Effect.void })),
)

const layerMessages = (database: TestDatabase, limits: Partial<DatabaseOptions>) =>
  Messages.layer.pipe(
    Layer.provide([Egress.layerClosed, layerGate]),
    Layer.provideMerge(MediaLinks.layer),
    Layer.provideMerge(layerStoredSecrets),
    Layer.provideMerge(
      Layer.mergeAll(
        layerPostgres({ ...toOptions(database), ...limits }),
        layerWakeUp(toOptions(database)),
        SecretsKey.layerHex("5e".repeat(32)),
        Ids.layerRandom,
      ),
    ),
  )

/** A client of the test's own, as a host has one. */
export const aClient = ({ database, path, username }: TestDatabase) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ host: dirname(path), user: username, database })
      client.on("error", () => undefined)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end().catch(() => undefined)),
  )

export const execute = (client: Client, text: string) => Effect.promise(() => client.query(text))

/** A workspace with a number and a plan, on its own database, and a host's table there. */
const aShop = Effect.fnUntraced(function* (plan: Plan, limits: Partial<DatabaseOptions>) {
  yield* TestClock.setTime(noon)
  const database = yield* aDatabase
  // Short limits begin once the tables stand.
  yield* Effect.scoped(aProcess(database))
  const built = yield* Layer.build(layerMessages(database, limits))
  const client = yield* aClient(database)
  yield* execute(client, "create table public.orders (name text)")
  const { number, workspace } = yield* Effect.provide(
    Effect.gen(function* () {
      const created = yield* aWorkspace({ plan })
      return { workspace: created, number: yield* aNumber(created.id) }
    }),
    built,
  )
  const inStores = Effect.provide(built)
  const caller = Caller.trusted(workspace)
  const send = (phone: string, idempotency: IdempotencyKey | null = null) =>
    Messages.use((messages) => messages.send(caller, { to: { phone }, text: "Hello" }, idempotency))
  const cancel = (id: MessageId | undefined) =>
    Messages.use((messages) => messages.cancel(caller, id, true))
  return {
    database,
    client,
    caller,
    number,
    workspace,
    inStores,
    send,
    cancel,
    join: <A, E, R>(input: TransactionClient, effect: Effect.Effect<A, E, R>) =>
      Store.use(({ system: transactions }) => transactions.joinTransaction(input, effect)),
    /** Remains of sends: messages, allowance and idempotency records. */
    left: Effect.gen(function* () {
      const { rows } = yield* execute(
        client,
        `select
          (select count(*)::integer from messaging.idempotency_records) as records,
          (select count(*)::integer from messaging.idempotency_claims) as claims,
          (select sum(quota_bound)::integer from messaging.lanes) as quota,
          (select count(*)::integer from messaging.messages) as messages,
          (select count(*)::integer from public.orders) as orders`,
      )
      return { ...rows[0], allowance: yield* remaining(workspace) }
    }).pipe(inStores),
  }
})

/** Starts what waits for the transaction; returns once it waits for a lock, or has not waited at all. */
export const untilItWaits = <A, E, R>(client: Client, waits: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(waits, { startImmediately: true })
    const isHeld = Effect.map(
      execute(client, "select from pg_stat_activity where wait_event_type = 'Lock'"),
      ({ rows }) => rows.length > 0 || fiber.pollUnsafe() !== undefined,
    )
    yield* Effect.repeat(isHeld, { until: (is) => is })
    return fiber
  })

export const phone = "+15550100001"

/** Why the core refuses; undefined for a failure that is not a refusal. */
export const getRefusal = <A, E extends { readonly _tag: string }, R>(
  request: Effect.Effect<A, E, R>,
) =>
  Effect.map(Effect.flip(request), (error) =>
    "code" in error && error._tag === "Refusal" ? error.code : undefined,
  )

/** What happens in a shop of its own. */
export const inShop =
  <A, E, R>(
    test: (shop: Effect.Success<ReturnType<typeof aShop>>) => Effect.Effect<A, E, R>,
    plan: Plan = aPlan(3),
    limits: Partial<DatabaseOptions> = {},
  ) =>
  () =>
    Effect.flatMap(aShop(plan, limits), test).pipe(Effect.provide(TestClock.layer()))
