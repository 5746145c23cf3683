/** `Outbox`: every announcement once, in the commit that it announces. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ids } from "../Expect.ts"
import { readOutbox } from "../follow.ts"
import { cancelled, end } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aStage } from "../Records.ts"
import { Store } from "@messaging-service/core"

export const outbox: Topic = (it) => {
  it.effect("a reader that continues from the last position misses nothing", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const start = (yield* readOutbox(0)).at(-1)?.id ?? 0
      const stages = yield* Effect.forEach(Array.from({ length: 8 }), () => aStage())
      let writing = true
      const write = Effect.forEach(
        stages,
        ({ number }) =>
          Effect.forEach(Array.from({ length: 15 }), (_, index) =>
            Effect.tap(accepted(number, { count: 1 + (index % 4) }), (messages) =>
              end(...messages.map((message) => cancelled(message))),
            ),
          ),
        { concurrency: "unbounded" },
      ).pipe(
        Effect.map((created) => created.flat(2)),
        Effect.ensuring(
          Effect.sync(() => {
            writing = false
          }),
        ),
      )
      const read = Effect.gen(function* () {
        const received: Array<number> = []
        let position = start
        for (;;) {
          const last = !writing
          const page = yield* store.readEvents(position, 10)
          received.push(...page.flatMap(({ messageId }) => messageId ?? []))
          position = page.at(-1)?.id ?? position
          if (last && page.length === 0) return received
          yield* Effect.yieldNow
        }
      })
      const [result, seen] = yield* Effect.all([write, read], { concurrency: "unbounded" })
      assert.deepStrictEqual(
        seen.toSorted((a, b) => a - b),
        ids(result).toSorted((a, b) => a - b),
      )
    }),
  )
}
