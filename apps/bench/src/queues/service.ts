/** The service's dispatch loop, as many as there are workers, over a transport that accepts at once. */
import { WakeUp, makeDispatcher } from "@messaging-service/core"
import { Deferred, Effect, Fiber, Layer } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { check } from "../measuring/checks.ts"
import { layerService } from "../serving/service.ts"
import { storeOn } from "../Setup.ts"
import type { Queue } from "./Queue.ts"

/** The service's own default. */
const pool = 10

export const openServiceQueue = Effect.fnUntraced(function* openServiceQueue(
  database: BenchDatabase,
) {
  let handedOver = 0
  let expected = 0
  let allHandedOver = Deferred.makeUnsafe<void>()
  const observed = () => {
    handedOver++
    if (handedOver === expected) Deferred.doneUnsafe(allHandedOver, Effect.void)
  }
  const service = yield* Layer.build(
    layerService(observed).pipe(
      Layer.provideMerge(Layer.merge(storeOn(database, pool), WakeUp.layerLocal)),
    ),
  ).pipe(Effect.orDie)

  const queue: Queue = {
    name: "service",
    fill: Effect.void,
    dispatch: (workers, count) =>
      Effect.scoped(
        Effect.gen(function* () {
          handedOver = 0
          expected = count
          allHandedOver = Deferred.makeUnsafe<void>()
          const fibers = yield* Effect.forEach(Array.from({ length: workers }), () =>
            Effect.flatMap(makeDispatcher, ({ run }) => Effect.forkScoped(run)),
          )
          yield* Deferred.await(allHandedOver)
          // A dispatcher that is stopped settles what it has handed over.
          yield* Fiber.interruptAll(fibers)
          return handedOver
        }),
      ).pipe(Effect.provideContext(service)),
    checkDone: () =>
      Effect.gen(function* () {
        yield* check(
          "lanes left in hand",
          yield* database.count("select count(*) from lanes where lease_until is not null"),
          0,
        )
        yield* check(
          "lanes left due",
          yield* database.count("select count(*) from lanes where next_due is not null"),
          0,
        )
      }),
  }
  return queue
})
