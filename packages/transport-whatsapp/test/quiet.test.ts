/** The encryption library prints keys; they reach no console, and all other output does. */
import { assert, it } from "@effect/vitest"
import type { SignalRepositoryWithLIDStore } from "baileys"
import { Effect } from "effect"
import { aloud, quietRepository } from "../src/Connection.ts"

it.effect("a repository's output is dropped, later too; others' output is not", () =>
  Effect.gen(function* () {
    const printed: Array<unknown> = []
    const { info } = console
    yield* Effect.acquireUseRelease(
      Effect.sync(() => {
        console.info = (...args: ReadonlyArray<unknown>) => void printed.push(...args)
      }),
      () =>
        Effect.promise(async () => {
          const repository = quietRepository(
            () =>
              ({
                hasSenderKey: async () => {
                  console.info("secret 1")
                  await new Promise((resolve) => {
                    setImmediate(resolve)
                  })
                  console.info("secret 2")
                  aloud(() => console.info("store"))
                  return true
                },
              }) as unknown as SignalRepositoryWithLIDStore,
          )({} as never, {} as never)
          const request = repository.hasSenderKey({ group: "", meId: "" })
          console.info("service")
          assert.isTrue(await request)
          console.info("after")
        }),
      () =>
        Effect.sync(() => {
          console.info = info
        }),
    )
    assert.deepStrictEqual(printed, ["service", "store", "after"])
  }),
)
