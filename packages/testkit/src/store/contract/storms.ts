/**
 * Everything at once: acceptances, workers that die, cancels, sweeps, ticks, numbers that log out
 * and numbers that are removed; then quiet; then the sums. Afterwards every message must have ended
 * exactly once and been announced exactly once, and allowance and quota must add up. The simulation
 * uses only a store in memory: this tests every store.
 */
import { assert } from "@effect/vitest"
import { transition, Store } from "@messaging-service/core"
import type {
  Message,
  MessageId,
  MessageState,
  SendingNumber,
  Workspace,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Random } from "effect"
import { assertLanes } from "../Attempts.ts"
import type { Attempt } from "../Attempts.ts"
import { at, ids } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { range, raceRounds } from "../Races.ts"
import { claimKey, readExactQuota, remaining } from "../Reading.ts"
import {
  again,
  cancelled,
  change,
  claim,
  end,
  endedAs,
  expired,
  failed,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accept,
  aClaim,
  aKey,
  anAcceptance,
  anEra,
  aNumber,
  aPlan,
  aStage,
  below,
  day,
  hour,
  minute,
  oneSecond,
  waiting,
  admitsAll,
} from "../Records.ts"

const initialAllowance = 150

interface LoadTest {
  readonly era: number
  readonly workspaceId: WorkspaceId
  readonly numbers: ReadonlyArray<SendingNumber>
  readonly limit: { readonly messages: number; readonly windowMillis: number }
  readonly accepted: Array<Message>
  readonly attempts: Array<Attempt>
  /** Ids that a call of `end` reported as ended. */
  readonly ended: Array<MessageId>
  topUps: number
  now: number
  latestClaim: number
  /** Set for the last part: every worker finishes everything. */
  calm: boolean
}

const later = (load: LoadTest) => Effect.map(below(2 * oneSecond), (step) => (load.now += 1 + step))

const stop = (load: LoadTest, changes: ReadonlyArray<ReturnType<typeof cancelled>>) =>
  Effect.map(end(...changes), (stopped) => {
    load.ended.push(...stopped)
    return stopped.length
  })

const acceptSome = (load: LoadTest, keyId: Parameters<typeof aClaim>[0]) =>
  Effect.gen(function* () {
    const now = yield* later(load)
    const number = at(load.numbers, yield* below(load.numbers.length))
    const idempotency = (yield* below(4)) === 0 ? aClaim(keyId) : null
    if (idempotency !== null) {
      const outcome = yield* claimKey(load.workspaceId, idempotency, now)
      assert.strictEqual(outcome._tag, "Claimed")
    }
    const acceptance = anAcceptance(number, {
      now,
      idempotency,
      count: 1 + (yield* below(4)),
      mode: (yield* below(5)) === 0 ? "test" : "live",
      sendAt: (yield* below(3)) === 0 ? now + (yield* below(minute)) : null,
      expiresAt: (yield* below(4)) === 0 ? now + minute + (yield* below(minute)) : null,
      limit: load.limit,
    })
    const outcome = yield* accept(acceptance)
    if (outcome._tag === "Conflict") {
      assert.include(["allowance", "quota", "number"], outcome.guard)
      return
    }
    const messages = acceptance.messages.map((message, index) =>
      waiting(message, at(outcome.ids, index)),
    )
    load.accepted.push(...messages)
    if (idempotency === null) return
    const repeat = yield* claimKey(load.workspaceId, { ...idempotency, token: "repeat" }, now)
    assert.strictEqual(repeat._tag, "Finished")
    if (repeat._tag === "Finished") assert.deepStrictEqual(repeat.record.madeIds, ids(messages))
  })

const cancelSome = (load: LoadTest) =>
  Effect.gen(function* () {
    const now = yield* later(load)
    if (load.accepted.length === 0) return
    const message = at(load.accepted, yield* below(load.accepted.length))
    yield* stop(load, [cancelled(message, now)])
  })

/** Sweeps expired, due test and orphaned messages; returns how many it ended. */
const sweep = (load: LoadTest) =>
  Effect.gen(function* () {
    const store = (yield* Store).messages
    const now = yield* later(load)
    const mine = (messages: ReadonlyArray<Message>) =>
      messages.filter((message) => message.workspaceId === load.workspaceId)
    const over = mine(yield* store.expired(now, 20))
    const due = mine(yield* store.dueTest(now, 20, 20))
    const orphaned = mine(yield* store.orphaned(100_000))
    yield* Effect.yieldNow
    return yield* stop(load, [
      ...over.map((message) => expired(message, now)),
      ...due.map((message) => change(message, { trigger: "send_succeeded" }, now)),
      ...orphaned.map((message) => cancelled(message, now)),
    ])
  })

/** Claims and works; returns how many it claimed. */
const work = (load: LoadTest, late: Array<Attempt>) =>
  Effect.gen(function* () {
    const now = yield* later(load)
    const leaseUntil = now + 10 * oneSecond
    load.latestClaim = Math.max(load.latestClaim, now)
    const claims = yield* claim(load.numbers, {
      now,
      leaseUntil,
      limit: 1 + (yield* below(4)),
    })
    const latest = load.latestClaim
    const started = claims.map((claimed): Attempt => ({
      claimed,
      now,
      latest,
      leaseUntil,
      settled: "lost",
    }))
    load.attempts.push(...started)
    yield* Effect.yieldNow
    for (const attempt of started) {
      if (!load.calm && (yield* below(8)) === 0) late.push(attempt)
      else yield* conclude(load, attempt)
    }
    if (late.length > 0 && (yield* below(5)) === 0) {
      yield* conclude(load, at(late.splice(0, 1), 0))
    }
    return claims.length
  })

const conclude = (load: LoadTest, attempt: Attempt) =>
  Effect.gen(function* () {
    const now = yield* later(load)
    const { claimed } = attempt
    const random = load.calm ? 9 : yield* below(10)
    const over = claimed.message.expiresAt !== null && claimed.message.expiresAt <= now
    const settlement = claimed.removed
      ? endedAs(claimed, { trigger: "cancel" }, now)
      : random < 2
        ? again(claimed, { interrupted: random === 0, notBefore: now + oneSecond })
        : random === 2
          ? failed(claimed, now)
          : over
            ? endedAs(claimed, { trigger: "expire" }, now)
            : sent(claimed, now)
    const settled = yield* settle([settlement], now)
    if (settled.length === 0) return
    if (settlement._tag === "Ended") attempt.settled = "ended"
    else attempt.settled = settlement.unfinished === "interrupted" ? "interrupted" : "postponed"
  })

const tickSome = (load: LoadTest) =>
  Effect.gen(function* () {
    const store = (yield* Store).messages
    if (load.accepted.length === 0) return
    const message = at(load.accepted, yield* below(load.accepted.length))
    yield* store.tick(message.from.id, message.transportId, "delivered", 0)
  })

const flap = (load: LoadTest) =>
  Effect.gen(function* () {
    const store = (yield* Store).numbers
    const now = yield* later(load)
    const number = at(load.numbers, yield* below(load.numbers.length))
    const status = (yield* below(3)) === 0 ? "disconnected" : "connected"
    yield* store.setStatus(number.id, status, undefined, now)
  })

const topUp = (load: LoadTest) =>
  Effect.gen(function* () {
    const store = (yield* Store).workspaces
    const more = (current: Workspace) => ({
      change: { plan: aPlan((current.plan?.messagesRemaining ?? 0) + 1) },
      admits: admitsAll,
    })
    yield* store.update(load.workspaceId, more, yield* later(load))
    load.topUps++
  })

/** The final states of the messages, by id. */
const outcomes = (load: LoadTest) =>
  Effect.map(
    Store.use(({ messages: store }) => store.byIds(ids(load.accepted))),
    (messages) => {
      assert.lengthOf(messages, load.accepted.length)
      return messages
    },
  )

const eventByState: Readonly<Partial<Record<MessageState, string>>> = {
  sent: "message.sent",
  delivered: "message.sent",
  failed: "message.failed",
  cancelled: "message.cancelled",
  expired: "message.expired",
}

export const storms: Topic = (it, options) => {
  it.effect.each(options.quick ? range(6) : raceRounds(options, 3))(
    "every message ends once, is announced once, and the sums are right (storm %i)",
    (seed) =>
      Effect.gen(function* () {
        const follow = yield* followOutbox
        const numberStore = (yield* Store).numbers
        const era = anEra()
        const stage = yield* aStage({ plan: aPlan(initialAllowance), createdAt: era })
        const others = yield* Effect.forEach(range(4), () => aNumber(stage.workspace.id))
        const { key } = yield* aKey(stage.workspace.id)
        const load: LoadTest = {
          era,
          workspaceId: stage.workspace.id,
          numbers: [stage.number, ...others],
          limit: { messages: 60, windowMillis: day },
          accepted: [],
          attempts: [],
          ended: [],
          topUps: 0,
          now: era,
          latestClaim: era,
          calm: false,
        }

        const turns = 30
        const agent = <A, E, R>(
          name: string,
          times: number,
          act: (turn: number) => Effect.Effect<A, E, R>,
        ) =>
          Effect.forEach(range(times), (turn) => Effect.andThen(act(turn), Effect.yieldNow), {
            discard: true,
          }).pipe(Random.withSeed(`storm ${seed} ${name}`))
        const removed = at(load.numbers, 4)
        yield* Effect.all(
          [
            ...range(5).map((n) => agent(`accept ${n}`, turns, () => acceptSome(load, key.id))),
            ...range(6).map((n) => {
              const late: Array<Attempt> = []
              return agent(`work ${n}`, turns * 2, () => work(load, late))
            }),
            ...range(2).map((n) => agent(`cancel ${n}`, turns, () => cancelSome(load))),
            ...range(2).map((n) => agent(`sweep ${n}`, turns, () => sweep(load))),
            agent("tick", turns, () => tickSome(load)),
            agent("flap", turns, () => flap(load)),
            agent("top up", 10, () => topUp(load)),
            agent("remove", 1, () =>
              Effect.gen(function* () {
                while (load.accepted.length < 60) yield* Effect.yieldNow
                yield* numberStore.remove(load.workspaceId, removed.id, load.now)
              }),
            ),
          ],
          { concurrency: "unbounded", discard: true },
        )

        load.calm = true
        for (const number of load.numbers) {
          yield* numberStore.setStatus(number.id, "connected", undefined, load.now)
        }
        const calmDown = Effect.gen(function* () {
          for (let idleCount = 0; idleCount < 3;) {
            load.now += 5 * minute
            const done = (yield* work(load, [])) + (yield* sweep(load))
            idleCount = done === 0 ? idleCount + 1 : 0
          }
        })
        yield* calmDown.pipe(Random.withSeed(`calm ${seed}`))

        assertLanes(load.attempts, { ordered: false })
        const messages = yield* outcomes(load)
        const events = yield* follow(load.workspaceId)
        assert.lengthOf(events, messages.length)
        for (const message of messages) {
          const received = events.filter((event) => event.messageId === message.id)
          assert.deepStrictEqual(
            received.map((event) => event.type),
            [eventByState[message.state] ?? `still ${message.state}`],
          )
        }

        const endedByWorkers = load.attempts
          .filter((attempt) => attempt.settled === "ended")
          .map((attempt) => attempt.claimed.message.id)
        assert.deepStrictEqual(
          [...load.ended, ...endedByWorkers].toSorted((a, b) => a - b),
          ids(messages).toSorted((a, b) => a - b),
        )

        const live = messages.filter((message) => message.mode === "live")
        const kept = live.filter(
          (message) => message.state !== "cancelled" && message.state !== "expired",
        )
        assert.strictEqual(
          yield* remaining(stage.workspace),
          initialAllowance + load.topUps - kept.length,
        )
        for (const number of load.numbers) {
          if (number === removed) continue
          const plannedAt = load.era + hour
          const { planned } = yield* readExactQuota(number, { plannedAt, limit: load.limit })
          assert.strictEqual(planned, kept.filter((each) => each.from.id === number.id).length)
        }
        for (const message of kept) {
          assert.isUndefined(transition(message.state, "cancel"), `${message.id} still waits`)
        }
      }),
    60_000,
  )
}
