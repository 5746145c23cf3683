/** Turns: what a lane hands out together leaves one after another, and each ends by itself. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  LaneUpdate,
  ClaimedMessage,
  ClaimQuery,
  Message,
  MessageId,
  Pacing,
  SendingNumber,
  Settlement,
} from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids } from "../Expect.ts"
import { followOutbox, scenario } from "../follow.ts"
import { attemptsInHands, lookUp, readState } from "../Reading.ts"
import { atOnce, range, raceRounds } from "../Races.ts"
import {
  again,
  aClaimQuery,
  cancelled,
  claim,
  claimOne,
  end,
  endedAs,
  expired,
  failed,
  renew,
  sent,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMessage,
  admitsNone,
  aStage,
  below,
  day,
  hour,
  minute,
  noon,
  oneSecond,
  someNumbers,
} from "../Records.ts"

const max = 16

const slow: Pacing = {
  minIntervalMillis: null,
  jitterMillis: null,
  perMinute: null,
  perHour: 100,
  newRecipientsPerDay: null,
}

const claimTurn = (number: SendingNumber, overrides: Partial<Omit<ClaimQuery, "owned">> = {}) =>
  claimOne(number, { turn: max, ...overrides })

/** All of a turn, the first included. */
const toTurn = (claimed: ClaimedMessage): ReadonlyArray<Message> => [
  claimed.message,
  ...claimed.rest,
]

/** As the worker continues with that message. */
const goOnWith = (claimed: ClaimedMessage, index: number): ClaimedMessage => ({
  ...claimed,
  message: at(toTurn(claimed), index),
  rest: toTurn(claimed).slice(index + 1),
})

const toSent = (
  claimed: ClaimedMessage,
  index: number,
  now = noon,
  laneUpdate: Partial<LaneUpdate> = {},
) => sent(goOnWith(claimed, index), now, laneUpdate)

/** Settles; returns what is in flight in its place, null when the lane was given back. */
const settle = (settlement: Settlement, now = noon) =>
  Effect.gen(function* () {
    const { next, settled } = yield* Store.use(({ queue }) => queue.settle([settlement], now))
    assert.strictEqual(settled.size, 1)
    return [...next.values()][0]?.messageId ?? null
  })

const passedOver = (settlement: Settlement, now = noon) =>
  Effect.map(
    Store.use(({ queue }) => queue.settle([settlement], now)),
    ({ next, settled }) => assert.strictEqual(settled.size + next.size, 0),
  )

/** A number with so many messages, all of them in one turn. */
const aTurn = (count: number, overrides: Partial<Omit<ClaimQuery, "owned">> = {}) =>
  Effect.gen(function* () {
    const { number, workspace } = yield* aStage()
    const messages = yield* accepted(number, { count })
    const claimed = yield* claimTurn(number, overrides)
    assert.deepStrictEqual(ids(toTurn(claimed)), ids(messages))
    return { number, workspace, messages, claimed, id: (index: number) => at(messages, index).id }
  })

const toPositions = (number: SendingNumber, now = noon) =>
  Effect.map(attemptsInHands(number, now), (attempts) => attempts.length)

export const turns: Topic = (it, options) => {
  it.effect("a claim hands out what is due, in order, as much as a turn has", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const due = yield* accepted(number, { count: 3 })
      const later = yield* aMessage(number, { sendAt: noon + hour })
      const claimed = yield* claimTurn(number, { turn: 2 })
      assert.deepStrictEqual(ids(toTurn(claimed)), ids(due.slice(0, 2)))
      assert.isNull(yield* settle(toSent(claimed, 0, noon, { endsTurn: true })))
      const rest = yield* claimTurn(number)
      assert.deepStrictEqual(ids(toTurn(rest)), ids(due.slice(1)))
      assert.strictEqual(yield* toPositions(number), 1)
      assert.strictEqual(yield* settle(toSent(rest, 0)), at(due, 2).id)
      assert.isNull(yield* settle(toSent(rest, 1)))
      assert.strictEqual(yield* toPositions(number), 0)
      assert.strictEqual((yield* claimTurn(number, { now: noon + hour })).message.id, later.id)
    }),
  )

  it.effect("each message of a turn is an attempt of its own", () =>
    Effect.gen(function* () {
      const { claimed, number } = yield* aTurn(3)
      const attempts = new Set<string>()
      for (const index of range(3)) {
        const inHands = yield* attemptsInHands(number, noon)
        assert.lengthOf(inHands, 1)
        for (const { attempt } of inHands) attempts.add(attempt)
        yield* settle(toSent(claimed, index))
      }
      assert.strictEqual(attempts.size, 3)
    }),
  )

  it.effect("one message is in flight: what is cancelled behind it leaves the turn", () =>
    Effect.gen(function* () {
      const { claimed, id, messages } = yield* aTurn(5)
      assert.isTrue((yield* lookUp(at(messages, 0))).inFlight)
      assert.isFalse((yield* lookUp(at(messages, 1))).inFlight)
      assert.deepStrictEqual(yield* end(cancelled(at(messages, 0))), [])
      assert.deepStrictEqual(yield* end(cancelled(at(messages, 2))), [id(2)])
      assert.strictEqual(yield* settle(toSent(claimed, 0)), id(1))
      assert.isTrue((yield* lookUp(at(messages, 1))).inFlight)
      assert.deepStrictEqual(yield* end(cancelled(at(messages, 1))), [])
      assert.strictEqual(yield* settle(failed(goOnWith(claimed, 1))), id(3))
      assert.deepStrictEqual(yield* end(cancelled(at(messages, 4))), [id(4)])
      assert.isNull(yield* settle(toSent(claimed, 3)))
      assert.deepStrictEqual(yield* Effect.forEach(messages, readState), [
        "sent",
        "failed",
        "cancelled",
        "sent",
        "cancelled",
      ])
    }),
  )

  it.effect("what expires behind the message in flight leaves the turn too", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* aMessage(number)
      const short = yield* aMessage(number, { expiresAt: noon + oneSecond })
      const last = yield* aMessage(number)
      const claimed = yield* claimTurn(number)
      const late = noon + 2 * oneSecond
      const found = yield* Store.use(({ messages: store }) => store.expired(late, 100_000))
      assert.include(ids(found), short.id)
      assert.deepStrictEqual(yield* end(expired(short, late)), [short.id])
      assert.strictEqual(yield* settle(toSent(claimed, 0, late), late), last.id)
    }),
  )

  it.effect("a settlement that comes once more gets the same answer, and changes nothing", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { claimed, id, messages, number, workspace } = yield* aTurn(3)
      const settlement = toSent(claimed, 0)
      assert.strictEqual(yield* settle(settlement), id(1))
      yield* Store.use(({ queue }) =>
        queue.pause(number.id, { until: null, reason: "paused" }, noon),
      )
      assert.strictEqual(yield* settle(settlement), id(1))
      assert.isTrue((yield* lookUp(at(messages, 1))).inFlight)
      yield* passedOver(again(claimed))
      assert.isNull(yield* settle(toSent(claimed, 1)))
      yield* passedOver(settlement)
      assert.deepStrictEqual(scenario(yield* follow(workspace.id)), [
        [id(0), "message.sent"],
        [id(1), "message.sent"],
      ])
    }),
  )

  /** What ends a turn, and whether its lane can be claimed at once. */
  const interventions: Readonly<
    Record<
      string,
      readonly [isDue: boolean, (number: SendingNumber) => Effect.Effect<unknown, unknown, Store>]
    >
  > = {
    pause: [
      false,
      ({ id }) =>
        Store.use(({ queue }) => queue.pause(id, { until: null, reason: "paused" }, noon)),
    ],
    disconnection: [
      false,
      ({ id }) =>
        Store.use(({ numbers }) => numbers.setStatus(id, "disconnected", undefined, noon)),
    ],
    "new connection": [
      true,
      ({ id }) => Store.use(({ numbers }) => numbers.setStatus(id, "connected", undefined, noon)),
    ],
    "message that is due earlier": [true, (number) => aMessage(number, { now: noon - minute })],
    pacing: [
      true,
      ({ id, workspaceId }) =>
        Store.use(({ numbers }) => numbers.change(workspaceId, id, { pacing: slow }, noon)),
    ],
    "disabled workspace": [
      false,
      ({ workspaceId }) =>
        Store.use(({ workspaces }) =>
          workspaces.update(
            workspaceId,
            () => ({ change: { accountDisabled: true }, admits: admitsNone }),
            noon,
          ),
        ),
    ],
    removal: [
      false,
      ({ id, workspaceId }) => Store.use(({ numbers }) => numbers.remove(workspaceId, id, noon)),
    ],
  }
  for (const [name, [isDue, intervene]] of Object.entries(interventions)) {
    it.effect(`a ${name} lets the message in flight end, and nothing follows`, () =>
      Effect.gen(function* () {
        const { claimed, messages, number } = yield* aTurn(3)
        yield* intervene(number)
        assert.isNull(yield* settle(toSent(claimed, 0)))
        assert.lengthOf(yield* claim([number], { turn: max }), isDue ? 1 : 0)
        if (isDue) return
        const rest = messages.slice(1)
        assert.deepStrictEqual(yield* end(...rest.map((one) => cancelled(one))), ids(rest))
      }),
    )
  }

  it.effect("a pause that is over, and a message that is due later, let the turn go on", () =>
    Effect.gen(function* () {
      const { claimed, id, number } = yield* aTurn(3)
      yield* Store.use(({ queue }) =>
        queue.pause(number.id, { until: noon + oneSecond, reason: "paused" }, noon),
      )
      yield* aMessage(number, { now: noon + 1 })
      const late = noon + oneSecond
      assert.strictEqual(yield* settle(toSent(claimed, 0, late), late), id(1))
    }),
  )

  it.effect("an attempt that changes its lane ends the turn", () =>
    Effect.gen(function* () {
      const failures = { refusals: 1, pauses: 0 }
      for (const toSettlement of [
        (one: ClaimedMessage) => sent(one, noon, { notBefore: noon + minute }),
        (one: ClaimedMessage) => sent(one, noon, { breaker: { failures, pause: null } }),
        (one: ClaimedMessage) => sent(one, noon, { endsTurn: true }),
        (one: ClaimedMessage) => endedAs(one, { trigger: "expire" }),
        (one: ClaimedMessage) => again(one),
      ]) {
        const { claimed, id, messages, number } = yield* aTurn(3)
        assert.strictEqual(yield* settle(toSent(claimed, 0)), id(1))
        const settlement = toSettlement(goOnWith(claimed, 1))
        assert.isNull(yield* settle(settlement))
        assert.isFalse((yield* lookUp(at(messages, 1))).inFlight)
        const next = yield* claimTurn(number, { now: noon + minute })
        assert.deepStrictEqual(
          ids(toTurn(next)),
          ids(messages.slice(settlement._tag === "Again" ? 1 : 2)),
        )
        assert.strictEqual(next.interruptions, 0)
      }
    }),
  )

  it.effect("once its worker died the message in flight comes again, alone", () =>
    Effect.gen(function* () {
      const { claimed, id, messages, number } = yield* aTurn(5)
      yield* settle(toSent(claimed, 0))
      const late = noon + 2 * minute
      assert.isTrue((yield* lookUp(at(messages, 1))).inFlight)
      assert.deepStrictEqual(yield* end(cancelled(at(messages, 1))), [])
      assert.deepStrictEqual(yield* end(cancelled(at(messages, 2))), [id(2)])
      const repeat = yield* claimTurn(number, { now: late })
      assert.deepStrictEqual([repeat.message.id, repeat.interruptions], [id(1), 1])
      assert.lengthOf(repeat.rest, 0)
      yield* passedOver(toSent(claimed, 1, late), late)
      assert.deepStrictEqual(yield* renew([claimed], late + minute), [])
      assert.isNull(yield* settle(sent(repeat, late), late))
      const rest = yield* claimTurn(number, { now: late })
      assert.deepStrictEqual(ids(toTurn(rest)), [id(3), id(4)])
      assert.strictEqual(rest.interruptions, 0)
      assert.deepStrictEqual(yield* Effect.forEach(rest.rest, readState), ["waiting"])
    }),
  )

  it.effect("what may have left when a paused lane's lease ran out is the one in flight", () =>
    Effect.gen(function* () {
      const { claimed, id, messages, number } = yield* aTurn(3)
      yield* settle(toSent(claimed, 0))
      yield* Store.use(({ queue }) =>
        queue.pause(number.id, { until: noon + hour, reason: "paused" }, noon),
      )
      assert.deepStrictEqual(yield* claim([number], { now: noon + 2 * minute, turn: max }), [])
      assert.deepStrictEqual(yield* end(cancelled(at(messages, 1)), cancelled(at(messages, 2))), [
        id(2),
      ])
      const repeat = yield* claimTurn(number, { now: noon + hour })
      assert.deepStrictEqual([repeat.message.id, repeat.interruptions], [id(1), 1])
    }),
  )

  it.effect("a lease that ran out ends the turn; one that was renewed does not", () =>
    Effect.gen(function* () {
      const leaseUntil = noon + minute
      const lost = yield* aTurn(2, { leaseUntil })
      assert.isNull(yield* settle(toSent(lost.claimed, 0, leaseUntil), leaseUntil))
      const kept = yield* aTurn(2, { leaseUntil })
      assert.deepStrictEqual(yield* renew([kept.claimed], noon + hour), [kept.number.id])
      const { next } = yield* Store.use(({ queue }) =>
        queue.settle([toSent(kept.claimed, 0, leaseUntil)], leaseUntil),
      )
      assert.deepStrictEqual(
        [...next],
        [[kept.id(0), { messageId: kept.id(1), leaseUntil: noon + hour }]],
      )
    }),
  )

  it.effect("a turn is no longer than the send cap leaves room for", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const dailyLimit = { messages: 4, windowMillis: day }
      const messages = yield* accepted(number, { count: 6 })
      const first = yield* claimTurn(number, { dailyLimit, turn: 2 })
      yield* settle(toSent(first, 0))
      yield* settle(failed(goOnWith(first, 1)))
      const second = yield* claimTurn(number, { dailyLimit })
      assert.deepStrictEqual(ids(toTurn(second)), ids(messages.slice(2, 5)))
      for (const index of [0, 1, 2]) yield* settle(toSent(second, index))
      assert.deepStrictEqual(yield* claim([number], { dailyLimit, turn: max }), [])
      const third = yield* claimTurn(number, { dailyLimit, now: noon + day })
      assert.deepStrictEqual(ids(toTurn(third)), ids(messages.slice(5)))
    }),
  )

  it.effect("of a lane that is paced, or whose first message may have left, a turn is one", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const { number: paced } = yield* aStage()
      yield* Store.use(({ numbers }) =>
        numbers.change(paced.workspaceId, paced.id, { pacing: slow }, noon),
      )
      yield* accepted(paced, { count: 3 })
      assert.lengthOf((yield* claimTurn(paced)).rest, 0)
      yield* accepted(number, { count: 3 })
      yield* settle(again(yield* claimTurn(number), { interrupted: true }))
      assert.lengthOf((yield* claimTurn(number)).rest, 0)
    }),
  )

  it.effect.each(raceRounds(options, 3))(
    "workers and cancels at once: each message ends once, in order, none after its cancel (round %i)",
    () =>
      Effect.gen(function* () {
        const follow = yield* followOutbox
        const { workspace } = yield* aStage()
        const numbers = yield* someNumbers(workspace.id, 6)
        const messages = yield* Effect.map(
          Effect.forEach(numbers, (number) => accepted(number, { count: 40 })),
          (all) => all.flat(),
        )
        const left = new Map<SendingNumber["id"], Array<MessageId>>()
        const gone = new Set<MessageId>()
        let done = false
        const send = (claimed: ClaimedMessage): Effect.Effect<void, unknown, Store> =>
          Effect.gen(function* () {
            const { message, number } = claimed
            assert.isFalse(gone.has(message.id), "sent after its cancel")
            left.set(number.id, [...(left.get(number.id) ?? []), message.id])
            yield* Effect.yieldNow
            const { next } = yield* Store.use(({ queue }) => queue.settle([sent(claimed)], noon))
            const id = next.get(message.id)?.messageId
            if (id === undefined) return
            const index = claimed.rest.findIndex((one) => one.id === id)
            yield* send(goOnWith(claimed, index + 1))
          })
        const worker = Effect.gen(function* () {
          for (let empty = 0; empty < 20;) {
            const claimed = yield* Store.use(({ queue }) =>
              queue.claim({ ...aClaimQuery(numbers), limit: 2, turn: 8 }),
            )
            yield* Effect.forEach(claimed, send, { concurrency: "unbounded" })
            empty = claimed.length === 0 ? empty + 1 : 0
            yield* Effect.yieldNow
          }
        })
        const cancelSome = Effect.gen(function* () {
          const places = yield* Effect.replicateEffect(below(messages.length), 3)
          const some = [...new Set(places)].map((index) => at(messages, index))
          const ended = yield* end(...some.map((one) => cancelled(one)))
          for (const id of ended) gone.add(id)
          yield* Effect.yieldNow
        })
        const workers = Effect.all(
          range(4).map(() => worker),
          atOnce,
        )
        yield* Effect.all(
          [
            Effect.andThen(
              workers,
              Effect.sync(() => {
                done = true
              }),
            ),
            Effect.repeat(cancelSome, { until: () => done }),
          ],
          atOnce,
        )
        const all = [...left.values()].flat()
        assert.strictEqual(new Set([...all, ...gone]).size, all.length + gone.size)
        assert.strictEqual(all.length + gone.size, messages.length)
        for (const own of left.values()) {
          assert.deepStrictEqual(
            own,
            own.toSorted((a, b) => a - b),
          )
        }
        assert.lengthOf(yield* follow(workspace.id), messages.length)
      }),
  )
}
