/** `Outbox`: every announcement once, in the commit that it announces. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { at, ids, present } from "../Expect.ts"
import { followOutbox, readOutbox } from "../follow.ts"
import { cancelled, end } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aStage, hour, noon, oneSecond } from "../Records.ts"
import { Store } from "@messaging-service/core"

export const outbox: Topic = (it) => {
  it.effect("each end of a message is announced, an acceptance is not", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const messages = [
        ...(yield* accepted(number, { count: 2, now: noon + 7, sendAt: noon + hour })),
        ...(yield* accepted(number, { mode: "test", now: noon + 8 })),
      ]
      assert.deepStrictEqual(yield* follow(workspace.id), [])
      const changes = messages.map((message) => cancelled(message, noon + oneSecond))
      yield* end(...changes)
      const events = yield* follow(workspace.id)
      assert.deepStrictEqual(
        events,
        changes.map(({ event }, index) => ({
          id: at(events, index).id,
          eventId: event.id,
          type: event.type,
          workspaceId: workspace.id,
          mode: event.mode,
          messageId: event.messageId,
          createdAt: event.createdAt,
          body: event.body,
          reference: null,
        })),
      )
    }),
  )

  it.effect("positions grow, and reading continues after any of them", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const messages = yield* accepted(number, { count: 10 })
      yield* end(...messages.map((message) => cancelled(message, noon + oneSecond)))
      const events = yield* follow(workspace.id)
      assert.lengthOf(events, 10)
      assert.deepStrictEqual(
        ids(events),
        ids(events).toSorted((a, b) => a - b),
      )
      assert.strictEqual(new Set(ids(events)).size, 10)
      assert.deepStrictEqual(
        events.map((event) => event.messageId).toSorted((a, b) => a - b),
        ids(messages),
      )
      const third = at(events, 2)
      assert.deepStrictEqual(yield* store.readEvents(third.id, 4), events.slice(3, 7))
      assert.deepStrictEqual(yield* readOutbox(at(events, 9).id), [])
      assert.deepStrictEqual(yield* store.readEvents(third.id, 1), [at(events, 3)])
    }),
  )

  it.effect("the latest position is that of the last event", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const before = yield* store.latestEvent
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const messages = yield* accepted(number, { count: 2 })
      yield* end(...messages.map((message) => cancelled(message, noon + oneSecond)))
      const events = yield* follow(workspace.id)
      const latest = yield* store.latestEvent
      assert.isAtLeast(latest, at(events, 1).id)
      assert.isBelow(before, at(events, 0).id)
      assert.deepStrictEqual(yield* readOutbox(latest), [])
    }),
  )

  it.effect("the body is kept byte for byte", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const [message] = yield* accepted(number, { message: { text: 'A "quoted"\n\\ line – 🦉' } })
      const change = cancelled(present(message))
      const body = `  ${change.event.body}\n`
      yield* end({ ...change, event: { ...change.event, body } })
      assert.strictEqual(at(yield* follow(workspace.id), 0).body, body)
    }),
  )

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
        Effect.map((made) => made.flat(2)),
        Effect.ensuring(
          Effect.sync(() => {
            writing = false
          }),
        ),
      )
      const read = Effect.gen(function* () {
        const seen: Array<number> = []
        let position = start
        for (;;) {
          const last = !writing
          const page = yield* store.readEvents(position, 10)
          seen.push(...page.map((event) => event.messageId))
          position = page.at(-1)?.id ?? position
          if (last && page.length === 0) return seen
          yield* Effect.yieldNow
        }
      })
      const [made, seen] = yield* Effect.all([write, read], { concurrency: "unbounded" })
      assert.deepStrictEqual(
        seen.toSorted((a, b) => a - b),
        ids(made).toSorted((a, b) => a - b),
      )
    }),
  )
}
