/** A process reports itself while it runs. */
import { assert, it } from "@effect/vitest"
import { storeWith } from "@messaging-service/testkit"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { NumberOwnership, OwnKind, reportProcess, WorkerName } from "../../src/index.ts"
import type { ProcessReport } from "../../src/index.ts"

it.effect(
  "a process reports itself every 15 seconds, and takes its report along when it stops",
  () =>
    Effect.gen(function* () {
      const reports: Array<ProcessReport> = []
      const ended: Array<string> = []
      const store = storeWith({
        system: {
          reportProcess: (report) => Effect.sync(() => void reports.push(report)),
          endProcess: (name) => Effect.sync(() => void ended.push(name)),
        },
      })
      const running = yield* reportProcess.pipe(
        Effect.provide(
          Layer.mergeAll(
            store,
            Layer.effect(
              NumberOwnership,
              Effect.map(NumberOwnership, (all) => ({
                ...all,
                held: Effect.succeed({ numbers: 3, shards: 64 }),
              })),
            ).pipe(Layer.provide(NumberOwnership.layerAll)),
          ),
        ),
        Effect.provideService(WorkerName, "worker-1"),
        Effect.provideService(OwnKind, "worker"),
        Effect.forkChild,
      )
      yield* TestClock.adjust("31 seconds")
      yield* Fiber.interrupt(running)
      const one = {
        name: "worker-1",
        kind: "worker",
        works: true,
        numbersHeld: 3,
        shardsHeld: 64,
      } as const
      assert.deepStrictEqual(
        reports,
        [0, 15_000, 30_000].map((seenAt) => ({ ...one, seenAt })),
      )
      assert.deepStrictEqual(ended, ["worker-1"])
    }),
)
