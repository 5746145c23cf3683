/** Concurrent workers until all is sent: nothing lost, nothing twice, order kept. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ClaimedMessage, SendingNumber } from "@messaging-service/core"
import { Effect, Random } from "effect"
import { assertLanes } from "../Attempts.ts"
import type { Attempt } from "../Attempts.ts"
import { at, ids } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { atOnce, range, raceRounds } from "../Races.ts"
import { again, claim, failed, sent, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aStage, below, hour, noon, oneSecond, someNumbers } from "../Records.ts"

/** A worker that sometimes loses a lease, postpones or settles too late. */
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
        const random = yield* below(10)
        const now = clock.now
        const { claimed } = attempt
        const interrupted = random === 1
        const settlement =
          random < 2
            ? again(claimed, { interrupted })
            : random === 2
              ? failed(claimed, now)
              : sent(claimed, now)
        const settled = yield* settle([settlement], now)
        if (settled.length === 0) return
        if (random >= 2) attempt.settled = "ended"
        else attempt.settled = interrupted ? "interrupted" : "postponed"
      })
    for (let turn = 0; turn < 3000 && !isDone(); turn++) {
      const now = (clock.now += 1 + (yield* below(200)))
      const leaseUntil = now + oneSecond
      const claims = yield* claim(numbers, { now, leaseUntil, limit: 1 + (yield* below(4)) })
      const started = claims.map((claimed): Attempt => ({
        claimed,
        now,
        leaseUntil,
        latest: now,
        settled: "lost",
      }))
      attempts.push(...started)
      yield* Effect.yieldNow
      for (const attempt of started) {
        if ((yield* below(8)) === 0) late.push(attempt)
        else yield* conclude(attempt)
      }
      if (late.length > 0 && (yield* below(6)) === 0) yield* conclude(at(late.splice(0, 1), 0))
      yield* Effect.yieldNow
    }
  })

export const workerRaces: Topic = (it, options) => {
  const rounds = raceRounds(options, 4)

  it.effect.each(rounds)(
    "six workers, lost leases and late settlements: each message ends once, in order (round %i)",
    (round) =>
      Effect.gen(function* () {
        const follow = yield* followOutbox
        const { workspace } = yield* aStage()
        const numbers = yield* someNumbers(workspace.id, 5)
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
        const ends = yield* follow(workspace.id)
        assert.deepStrictEqual(
          ends.flatMap(({ messageId }) => messageId ?? []).toSorted((a, b) => a - b),
          ids(messages).toSorted((a, b) => a - b),
        )
        assert.deepStrictEqual(yield* claim(numbers, { now: clock.now + hour }), [])
      }),
    60_000,
  )

  it.effect.each(rounds)("all messages that arrive while a lane is at work leave (round %i)", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const numbers = yield* someNumbers(workspace.id, 3)
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

  it.effect.each(rounds)("numbers that come and go lose no message (round %i)", (round) =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { workspace } = yield* aStage()
      const numbers = yield* someNumbers(workspace.id, 4)
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
