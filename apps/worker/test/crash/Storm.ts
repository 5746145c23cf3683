/**
 * Common parts of the crash tests: clients at work while members of the cluster die at random
 * moments. `TEST_SEED` repeats one. The simulation lacks real processes, sockets and database.
 */
import { it } from "@effect/vitest"
import { EmbeddedPostgres, bySize, processes, testSeed } from "@messaging-service/testkit"
import { Effect, Fiber, Layer, Random, Ref, Scope } from "effect"
import { startCluster } from "./Cluster.ts"
import type { Cluster, Member, PostgresCluster } from "./Cluster.ts"

export const seed = testSeed()

interface LoadTest {
  readonly kills: number
  /** Who may die. Default: all. */
  readonly victims?: ReadonlyArray<Member>
  /** Each repeats until the last kill. */
  readonly clients: ReadonlyArray<Effect.Effect<void, never, Scope.Scope>>
  /** Awaited before each kill. */
  readonly untilKill?: (killed: number) => Effect.Effect<unknown, processes.ProcessError>
  /** Forked before each kill, and awaited at the end. */
  readonly beforeKill?: (killed: number) => Effect.Effect<void, never, Scope.Scope>
}

/** Kills as often as required; returns when the clients have ended and all is up again. */
export const runLoad = Effect.fnUntraced(function* (
  cluster: Cluster,
  {
    beforeKill = () => Effect.void,
    clients,
    kills,
    untilKill = () => Effect.void,
    victims = cluster.members,
  }: LoadTest,
) {
  const over = yield* Ref.make(false)
  const goesOn = () => Effect.map(Ref.get(over), (ended) => !ended)
  const fibers = yield* Effect.forEach(clients, (client) =>
    Effect.forkScoped(Effect.repeat(client, { while: goesOn })),
  )
  for (let killed = 0; killed < kills; killed++) {
    yield* Effect.sleep(yield* Random.nextIntBetween(200, 1000))
    yield* Effect.orDie(untilKill(killed))
    const victim = victims[yield* Random.nextIntBetween(0, victims.length - 1)] ?? "server"
    if (victim === "server") {
      // A server that dies while it starts accepts nothing; workers die at any time.
      yield* cluster.ready(victim)
      yield* Effect.sleep(yield* Random.nextIntBetween(0, 1000))
    }
    fibers.push(yield* Effect.forkScoped(beforeKill(killed)))
    yield* cluster.kill(victim)
  }
  yield* Ref.set(over, true)
  yield* Fiber.joinAll(fibers)
  yield* cluster.allReady
})

/** A test on its own cluster. */
export const clusterTest = <E>(
  title: string,
  test: (cluster: PostgresCluster) => Effect.Effect<void, E, Scope.Scope>,
) =>
  it.live(title, () =>
    Effect.flatMap(startCluster(), test).pipe(
      Effect.scoped,
      Random.withSeed(seed),
      Effect.provide(EmbeddedPostgres.layer() as Layer.Layer<EmbeddedPostgres>),
    ),
  )

/** The same, under a storm. */
export const crashTest = <E>(
  title: string,
  test: (cluster: PostgresCluster, kills: number) => Effect.Effect<void, E, Scope.Scope>,
  kills = bySize({ change: 1, all: 4, night: 20 }),
) => {
  const stormy = (cluster: PostgresCluster) => test(cluster, kills)
  clusterTest(`${kills} kills: ${title} (seed ${seed})`, stormy)
}
