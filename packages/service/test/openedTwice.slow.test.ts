/** An embedded store that this process has open already. */
import { assert, it } from "@effect/vitest"
import { processes, putDataDirectory } from "@messaging-service/testkit"
import { Effect } from "effect"
import { join } from "node:path"
import { open } from "../src/index.ts"
import { failure } from "./Opened.ts"

it.live(
  "is refused with the place of the first call, until that one is closed",
  () =>
    Effect.gen(function* () {
      const embedded = join(yield* processes.temporaryDirectory, "data")
      yield* putDataDirectory(import.meta.url, embedded)
      yield* Effect.promise(async () => {
        const first = await open({ store: { embedded } })
        const { code, field, message } = await failure(open({ store: { embedded } }))
        assert.deepStrictEqual([code, field], ["cannot_start", "store.embedded"])
        assert.match(message, /\(opened at \S*openedTwice\.slow\.test\.ts:\d+:\d+\): reuse/)
        await first.close()
        const again = await open({ store: { embedded } })
        await again.close()
      })
    }).pipe(Effect.scoped),
  120_000,
)
