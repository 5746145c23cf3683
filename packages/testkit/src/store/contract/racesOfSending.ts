/** Several workers at the same lanes: no message twice under a live lease, none lost, order kept. */
import { assert } from "@effect/vitest"
import { NumberStore } from "@messaging-service/core"
import type { ClaimedMessage, SendingNumber } from "@messaging-service/core"
import { Effect, Random } from "effect"
import { assertLanes } from "../Attempts.ts"
import type { Attempt } from "../Attempts.ts"
import { at, ids } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
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
import {
  accepted,
  aMessage,
  aNumber,
  aStage,
  below,
  hour,
  minute,
  noon,
  oneSecond,
  stateOf,
} from "../World.ts"

const atOnce = { concurrency: "unbounded" } as const

const range = (length: number) => Array.from({ length }, (_, index) => index)

const numbersOf = (workspaceId: SendingNumber["workspaceId"], count: number) =>
  Effect.forEach(range(count), () => aNumber(workspaceId))

/** A worker that now and then loses a lease, postpones or settles too late. */
const worker = (
  numbers: ReadonlyArray<SendingNumber>,
  clock: { now: number },
  attempts: Array<Attempt>,
  isDone: () => boolean,
) =>
  Effect.gen(function* () {
    const late: Array<Attempt> = []
    const conclude = (attempt: Attempt) =>
      Effect.gen(function* () {
        const dice = yield* below(10)
        const now = clock.now
        const { claimed } = attempt
        const interrupted = dice === 1
        const settlement =
          dice < 2
            ? again(claimed, { interrupted })
            : dice === 2
              ? failed(claimed, now)
              : sent(claimed, now)
        const settled = yield* settle([settlement], now)
        if (settled.length === 0) return
        if (dice >= 2) attempt.settled = "ended"
        else attempt.settled = interrupted ? "interrupted" : "postponed"
      })
    for (let turn = 0; turn < 3000 && !isDone(); turn++) {
      const now = (clock.now += 1 + (yield* below(200)))
      const leaseUntil = now + oneSecond
      const claims = yield* claim(numbers, { now, leaseUntil, limit: 1 + (yield* below(4)) })
      const begun = claims.map((claimed): Attempt => ({
        claimed,
        now,
        leaseUntil,
        settled: "lost",
      }))
      attempts.push(...begun)
      yield* Effect.yieldNow
      for (const attempt of begun) {
        if ((yield* below(8)) === 0) late.push(attempt)
        else yield* conclude(attempt)
      }
      if (late.length > 0 && (yield* below(6)) === 0) yield* conclude(at(late.splice(0, 1), 0))
      yield* Effect.yieldNow
    }
  })

export const sendingRaces: Topic = (it, { parallel }) => {
  const rounds = range(parallel ? 4 : 3)

  it.effect.each(rounds)("workers that claim at once never get the same lane (round %i)", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const numbers = yield* numbersOf(workspace.id, 10)
      for (const number of numbers) yield* accepted(number, { count: 2 })
      const claims = yield* Effect.forEach(range(6), () => claim(numbers, { limit: 3 }), atOnce)
      const lanes = claims.flat().map((claimed) => claimed.number.id)
      assert.strictEqual(new Set(lanes).size, lanes.length)
      const rest = yield* claim(numbers)
      assert.lengthOf(new Set([...lanes, ...rest.map((claimed) => claimed.number.id)]), 10)
      assert.strictEqual(lanes.length + rest.length, 10)
    }),
  )

  it.effect.each(rounds)(
    "six workers, lost leases and late settlements: each message ends once, in order (round %i)",
    (round) =>
      Effect.gen(function* () {
        const follow = yield* followOutbox
        const { workspace } = yield* aStage()
        const numbers = yield* numbersOf(workspace.id, 5)
        const messages = (yield* Effect.forEach(numbers, (number) =>
          accepted(number, { count: 12 }),
        )).flat()
        const attempts: Array<Attempt> = []
        const clock = { now: noon }
        const isDone = () =>
          attempts.filter((attempt) => attempt.settled === "ended").length === messages.length
        yield* Effect.forEach(
          range(6),
          (index) =>
            worker(numbers, clock, attempts, isDone).pipe(
              Random.withSeed(`workers ${round} ${index}`),
            ),
          atOnce,
        )
        assert.isTrue(isDone(), "some message never ended")
        assertLanes(attempts, { ordered: true })
        const ends = (yield* follow(workspace.id)).filter((e) => e.type !== "message.accepted")
        assert.deepStrictEqual(
          ends.map((event) => event.messageId).toSorted((a, b) => a - b),
          ids(messages).toSorted((a, b) => a - b),
        )
        assert.deepStrictEqual(yield* claim(numbers, { now: clock.now + hour }), [])
      }),
    60_000,
  )

  it.effect.each(rounds)(
    "messages that arrive while a lane is worked off all leave (round %i)",
    () =>
      Effect.gen(function* () {
        const { workspace } = yield* aStage()
        const numbers = yield* numbersOf(workspace.id, 3)
        const expected = 3 * 4 * 10
        const left: Array<ClaimedMessage> = []
        let accepting = 12
        const acceptor = (index: number) =>
          Effect.forEach(range(10), () => accepted(at(numbers, index % 3))).pipe(
            Effect.ensuring(Effect.sync(() => accepting--)),
          )
        const send = Effect.gen(function* () {
          for (;;) {
            const last = accepting === 0
            const claimed = yield* claim(numbers, { limit: 2 })
            yield* settle(claimed.map((each) => sent(each)))
            left.push(...claimed)
            if (last && claimed.length === 0) return
            yield* Effect.yieldNow
          }
        })
        yield* Effect.all(
          [
            Effect.forEach(range(12), acceptor, { concurrency: "unbounded", discard: true }),
            ...range(4).map(() => send),
          ],
          atOnce,
        )
        yield* send
        assert.strictEqual(new Set(ids(left.map((each) => each.message))).size, expected)
        assert.lengthOf(left, expected)
      }),
  )

  it.effect.each(rounds)("a cancel or an expiry against a claim: one of them wins (round %i)", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const numbers = yield* numbersOf(workspace.id, 12)
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
        const state = yield* stateOf(message)
        assert.strictEqual(state === "sent", claimed.includes(message.id))
      }
    }),
  )

  it.effect.each(rounds)("of settlements of one lease at once one counts (round %i)", () =>
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
      const state = yield* stateOf(message)
      assert.strictEqual(state, at(["sent", "failed", "sent", "failed", "waiting"], winner))
      assert.lengthOf(yield* follow(workspace.id), state === "waiting" ? 1 : 2)
    }),
  )

  it.effect.each(rounds)("a second claim against a late settlement: one outcome (round %i)", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace } = yield* aStage()
      const numbers = yield* numbersOf(workspace.id, 8)
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
        assert.strictEqual(yield* stateOf(message), taken ? "failed" : "sent")
      }
      assert.lengthOf(yield* follow(workspace.id), 16)
    }),
  )

  it.effect.each(rounds)("a lease is renewed or taken over, not both (round %i)", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const numbers = yield* numbersOf(workspace.id, 8)
      for (const number of numbers) yield* accepted(number)
      const held = yield* claim(numbers, { leaseUntil: noon + oneSecond })
      const late = noon + minute
      const [renewed, taken] = yield* Effect.all(
        [
          Effect.map(
            Effect.forEach(held, (each) => renew([each], late + minute), atOnce),
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
    "a number removed while it is claimed from: sent or stranded (round %i)",
    () =>
      Effect.gen(function* () {
        const store = yield* NumberStore
        const { workspace } = yield* aStage()
        const numbers = yield* numbersOf(workspace.id, 8)
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
          assert.strictEqual(yield* stateOf(message), state)
        }
      }),
  )

  it.effect.each(rounds)("numbers that come and go lose no message (round %i)", (round) =>
    Effect.gen(function* () {
      const store = yield* NumberStore
      const { workspace } = yield* aStage()
      const numbers = yield* numbersOf(workspace.id, 4)
      for (const number of numbers) yield* accepted(number, { count: 8 })
      const left: Array<ClaimedMessage> = []
      const send = Effect.gen(function* () {
        const claimed = yield* claim(numbers, { limit: 2 })
        yield* Effect.yieldNow
        yield* settle(claimed.map((each) => sent(each)))
        left.push(...claimed)
      })
      const flap = (number: SendingNumber) =>
        Effect.gen(function* () {
          for (let turn = 0; turn < 6; turn++) {
            const status = (yield* Random.nextBoolean) ? "connected" : "disconnected"
            yield* store.setStatus(number.id, status, undefined, noon)
            yield* Effect.yieldNow
          }
          yield* store.setStatus(number.id, "connected", undefined, noon)
        }).pipe(Random.withSeed(`flap ${round} ${number.id}`))
      yield* Effect.all(
        [...numbers.map(flap), ...range(4).map(() => Effect.repeat(send, { times: 6 }))],
        atOnce,
      )
      yield* Effect.repeat(send, { times: 40 })
      assert.strictEqual(new Set(ids(left.map((each) => each.message))).size, 32)
      assert.lengthOf(left, 32)
    }),
  )
}
