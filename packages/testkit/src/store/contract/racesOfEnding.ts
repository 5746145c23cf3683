/** Several sweeps and cancels of the same messages: each ends once and refunds once. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { at, ids } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { atOnce, range, raceRounds } from "../Races.ts"
import { remaining } from "../Reading.ts"
import { cancelled, change, end, expired } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, anEra, aNumber, aPlan, aStage, hour, minute, noon } from "../Records.ts"
import { Store } from "@messaging-service/core"

export const endingRaces: Topic = (it, options) => {
  const rounds = raceRounds(options, 4)

  it.effect.each(rounds)(
    "concurrent cancels and expiries of a message are one end (round %i)",
    () =>
      Effect.gen(function* () {
        const follow = yield* followOutbox
        const { workspace, number } = yield* aStage({ plan: aPlan(20) })
        const messages = yield* accepted(number, { count: 10, expiresAt: noon + minute })
        const now = noon + minute
        const ended = yield* Effect.forEach(
          range(60),
          (index) => {
            const message = at(messages, index % 10)
            return end(index % 20 < 10 ? cancelled(message, now) : expired(message, now))
          },
          atOnce,
        )
        assert.deepStrictEqual(
          ended.flat().toSorted((a, b) => a - b),
          ids(messages),
        )
        assert.strictEqual(yield* remaining(workspace), 20)
        assert.lengthOf(yield* follow(workspace.id), 10)
      }),
  )

  it.effect.each(rounds)(
    "sweeps that overlap in every order end each message once (round %i)",
    () =>
      Effect.gen(function* () {
        const { workspace, number } = yield* aStage({ plan: aPlan(100) })
        const numbers = [number, yield* aNumber(workspace.id), yield* aNumber(workspace.id)]
        const messages = (yield* Effect.forEach(numbers, (each) =>
          accepted(each, { count: 10 }),
        )).flat()
        const ended = yield* Effect.forEach(
          range(10),
          (index) => {
            const some = messages.filter((message) => message.id % (2 + (index % 3)) !== 0)
            const ordered = index % 2 === 0 ? some : some.toReversed()
            return end(...ordered.map((message) => cancelled(message)))
          },
          atOnce,
        )
        const once = ended.flat()
        assert.strictEqual(new Set(once).size, once.length)
        assert.strictEqual(yield* remaining(workspace), 70 + once.length)
      }),
  )

  it.effect.each(rounds)("sweeps of expired and due messages share the work (round %i)", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const follow = yield* followOutbox
      const era = anEra()
      const { workspace, number } = yield* aStage({ createdAt: era })
      const due = yield* accepted(number, { count: 30, now: era, mode: "test" })
      const late = yield* accepted(number, { count: 30, now: era, expiresAt: era + 1 })
      const now = era + minute
      const sweep = Effect.gen(function* () {
        for (;;) {
          const over = yield* store.expired(now, 7)
          const test = yield* store.dueTest(now, 5, 5)
          if (over.length + test.length === 0) return
          yield* Effect.yieldNow
          yield* end(
            ...over.map((message) => expired(message, now)),
            ...test.map((message) => change(message, { trigger: "send_succeeded" }, now)),
          )
        }
      })
      yield* Effect.forEach(range(5), () => sweep, atOnce)
      const ends = yield* follow(workspace.id)
      assert.deepStrictEqual(
        ends.flatMap(({ messageId }) => messageId ?? []).toSorted((a, b) => a - b),
        ids([...due, ...late]),
      )
    }),
  )

  it.effect.each(rounds)(
    "a removal meets sweeps and cancels: each message ends once (round %i)",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).messages
        const follow = yield* followOutbox
        const { workspace, number } = yield* aStage({ plan: aPlan(50) })
        const messages = yield* accepted(number, { count: 24, sendAt: noon + hour })
        const sweep = Effect.gen(function* () {
          for (let turn = 0; turn < 6; turn++) {
            const found = yield* store.orphaned(1000)
            const mine = found.filter((message) => message.workspaceId === workspace.id)
            yield* end(...mine.map((message) => cancelled(message)))
            yield* Effect.yieldNow
          }
        })
        yield* Effect.all(
          [
            ...range(3).map(() => sweep),
            ...messages.map((message) => Effect.asVoid(end(cancelled(message)))),
            Effect.asVoid(
              Store.use(({ numbers }) => numbers.remove(workspace.id, number.id, noon)),
            ),
          ],
          atOnce,
        )
        yield* sweep
        assert.lengthOf(yield* follow(workspace.id), 24)
        assert.strictEqual(yield* remaining(workspace), 50)
      }),
  )
}
