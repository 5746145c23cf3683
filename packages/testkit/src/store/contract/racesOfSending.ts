/** Two workers that want the same lane or the same message: one of them gets it. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ClaimedMessage } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { atOnce, range, raceRounds } from "../Races.ts"
import { readState } from "../Reading.ts"
import {
  again,
  cancelled,
  claim,
  claimOne,
  end,
  expired,
  failed,
  renew,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, aStage, minute, noon, oneSecond, someNumbers } from "../Records.ts"

export const sendingRaces: Topic = (it, options) => {
  const rounds = raceRounds(options, 4)

  it.effect.each(rounds)("workers that claim at once never get the same lane (round %i)", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const numbers = yield* someNumbers(workspace.id, 10)
      for (const number of numbers) yield* accepted(number, { count: 2 })
      const claims = yield* Effect.forEach(range(6), () => claim(numbers, { limit: 3 }), atOnce)
      const lanes = claims.flat().map((claimed) => claimed.number.id)
      assert.strictEqual(new Set(lanes).size, lanes.length)
      const rest = yield* claim(numbers)
      assert.lengthOf(new Set([...lanes, ...rest.map((claimed) => claimed.number.id)]), 10)
      assert.strictEqual(lanes.length + rest.length, 10)
    }),
  )

  it.effect.each(rounds)("a cancel or an expiry against a claim: one of them wins (round %i)", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const numbers = yield* someNumbers(workspace.id, 12)
      const now = noon + minute
      const messages = yield* Effect.forEach(numbers, (number) =>
        aMessage(number, { expiresAt: now + 1 }),
      )
      const claims: Array<ClaimedMessage> = []
      const ended: Array<number> = []
      const take = Effect.map(claim(numbers, { now, limit: 3 }), (claimed) => {
        claims.push(...claimed)
      })
      const stop = (index: number) =>
        Effect.map(
          end(
            index % 2 === 0
              ? cancelled(at(messages, index), now)
              : expired(at(messages, index), now + 1),
          ),
          (stopped) => {
            ended.push(...stopped)
          },
        )
      yield* Effect.forEach(
        range(24),
        (index) =>
          Effect.gen(function* () {
            if (index % 2 === 0) yield* stop(index / 2)
            else yield* take
          }),
        atOnce,
      )
      yield* take.pipe(Effect.repeat({ times: 5 }))
      const claimed = ids(claims.map((each) => each.message))
      assert.deepStrictEqual(
        [...claimed, ...ended].toSorted((a, b) => a - b),
        ids(messages).toSorted((a, b) => a - b),
      )
      assert.lengthOf(
        yield* settle(
          claims.map((each) => sent(each, now)),
          now,
        ),
        claims.length,
      )
      for (const message of messages) {
        const state = yield* readState(message)
        assert.strictEqual(state === "sent", claimed.includes(message.id))
      }
    }),
  )

  it.effect.each(rounds)("one of concurrent settlements of a lease counts (round %i)", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number)
      const settlements = [
        sent(claimed),
        failed(claimed),
        sent(claimed),
        failed(claimed),
        again(claimed, { interrupted: true }),
      ]
      const settled = yield* Effect.forEach(
        settlements,
        (settlement) => settle([settlement]),
        atOnce,
      )
      assert.deepStrictEqual(settled.flat(), [message.id])
      const winner = settled.findIndex((each) => each.length === 1)
      const state = yield* readState(message)
      assert.strictEqual(state, at(["sent", "failed", "sent", "failed", "waiting"], winner))
      assert.lengthOf(yield* follow(workspace.id), state === "waiting" ? 0 : 1)
    }),
  )

  it.effect.each(rounds)("a second claim against a late settlement: one outcome (round %i)", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace } = yield* aStage()
      const numbers = yield* someNumbers(workspace.id, 8)
      const messages = yield* Effect.forEach(numbers, (number) => aMessage(number))
      const slow = yield* claim(numbers, { leaseUntil: noon + oneSecond })
      const late = noon + minute
      const [, quick] = yield* Effect.all(
        [
          Effect.forEach(slow, (each) => settle([sent(each, late)], late), atOnce),
          Effect.map(
            Effect.forEach(range(4), () => claim(numbers, { now: late, limit: 2 }), atOnce),
            (claims) => claims.flat(),
          ),
        ],
        atOnce,
      )
      yield* settle(
        quick.map((each) => failed(each, late)),
        late,
      )
      for (const message of messages) {
        const taken = quick.some((each) => each.message.id === message.id)
        assert.strictEqual(yield* readState(message), taken ? "failed" : "sent")
      }
      assert.lengthOf(yield* follow(workspace.id), 8)
    }),
  )

  it.effect.each(rounds)("a lease is renewed or taken over, not both (round %i)", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const numbers = yield* someNumbers(workspace.id, 8)
      for (const number of numbers) yield* accepted(number)
      const claimedMessages = yield* claim(numbers, { leaseUntil: noon + oneSecond })
      const late = noon + minute
      const [renewed, taken] = yield* Effect.all(
        [
          Effect.map(
            Effect.forEach(claimedMessages, (each) => renew([each], late + minute), atOnce),
            (answers) => answers.flat(),
          ),
          Effect.map(
            Effect.forEach(range(4), () => claim(numbers, { now: late, limit: 2 }), atOnce),
            (claims) => claims.flat(),
          ),
        ],
        atOnce,
      )
      const rest = yield* claim(numbers, { now: late })
      assert.deepStrictEqual(
        [...renewed, ...[...taken, ...rest].map((each) => each.number.id)].toSorted(
          (a, b) => a - b,
        ),
        ids(numbers),
      )
    }),
  )

  it.effect.each(rounds)(
    "a number removed while it is claimed from: sent or orphaned (round %i)",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).numbers
        const { workspace } = yield* aStage()
        const numbers = yield* someNumbers(workspace.id, 8)
        const messages = yield* Effect.forEach(numbers, (number) => aMessage(number))
        const claims: Array<ClaimedMessage> = []
        yield* Effect.forEach(
          range(16),
          (index) =>
            Effect.gen(function* () {
              if (index % 2 === 0) {
                yield* store.remove(workspace.id, at(numbers, index / 2).id, noon)
              } else {
                claims.push(...(yield* claim(numbers, { limit: 2 })))
              }
            }),
          atOnce,
        )
        assert.lengthOf(yield* settle(claims.map((each) => sent(each))), claims.length)
        const claimed = ids(claims.map((each) => each.message))
        const left = messages.filter((message) => !claimed.includes(message.id))
        assert.deepStrictEqual(yield* end(...left.map((message) => cancelled(message))), ids(left))
        for (const message of messages) {
          const state = claimed.includes(message.id) ? "sent" : "cancelled"
          assert.strictEqual(yield* readState(message), state)
        }
      }),
  )
}
