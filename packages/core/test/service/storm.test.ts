/**
 * Storms in which the clock jumps by hours, which the simulation never does, on the emulator's own
 * phones: seeded random sends, cancels, log-outs, changes of behaviour, dying workers, and a store
 * that fails before or after it acts. Afterwards every promise about every message must hold.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Random } from "effect"
import { TestClock } from "effect/testing"
import { Numbers, StoreUnavailable, countExactly, dailyQuota, Store } from "../../src/index.ts"
import type { Caller, Message, MessageId, NumberId } from "../../src/index.ts"
import { withLeaps } from "./Leaping.ts"
import type { Leap } from "./Leaping.ts"
import {
  allEvents,
  answer,
  behave,
  cancel,
  claimAndDie,
  copies,
  logOut,
  listMessages,
  reconnect,
  remaining,
} from "./Operations.ts"
import {
  aKey,
  aNumber,
  aWorkspaceWith,
  day,
  hour,
  inAService,
  iso,
  minute,
  second,
  settled,
} from "./Service.ts"
import { storeWithin } from "./Watched.ts"

const allowance = 10_000

/** A store that sometimes fails, before or after it acts. */
const unreliableStore = () => {
  const trouble = { chance: 0 }
  const mayFail = /^(queue|messages|numbers|workspaces|phones)\./
  const store = storeWithin((operation, effect) =>
    Effect.gen(function* () {
      if (trouble.chance === 0 || !mayFail.test(operation)) return yield* effect
      const lost = new StoreUnavailable({ operation, cause: "trouble" })
      const drawn = yield* Random.next
      if (drawn < trouble.chance) return yield* lost
      const answered = yield* effect
      return drawn < 2 * trouble.chance ? yield* lost : answered
    }),
  )
  return { store, trouble }
}

const below = (bound: number) => Random.nextIntBetween(0, bound, { halfOpen: true })

const oneOf = <A>(items: ReadonlyArray<A>) =>
  Effect.map(below(items.length), (index) => items[index] as A)

const oneIn = (bound: number) => Effect.map(below(bound), (drawn) => drawn === 0)

/** The result of a request to cancel a message. */
interface PendingRequest {
  readonly id: MessageId
  readonly fiber: Fiber.Fiber<boolean>
}

/** `leap`: now and then sets the clock forward or back, by up to two hours. */
const runLoad = (seed: string, actions: number, leap: Leap) =>
  Effect.gen(function* () {
    const { store, trouble } = unreliableStore()
    return yield* inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspaceWith(allowance)
        const live = yield* aKey(workspace)
        const test = yield* aKey(workspace, { mode: "test" })
        const numbers = yield* Effect.forEach([1, 2, 3], () => aNumber(workspace))
        const requests: Array<PendingRequest> = []
        const created: Array<readonly [caller: Caller, id: MessageId]> = []
        const firstAnswers = new Map<string, ReadonlyArray<MessageId>>()
        let removed: NumberId | undefined

        const send = Effect.gen(function* () {
          const caller = (yield* oneIn(6)) ? test : live
          const from = yield* oneOf(numbers)
          const now = yield* Clock.currentTimeMillis
          const sendAt = (yield* oneIn(3)) ? now + 1 + (yield* below(10 * minute)) : null
          const expiresAt = (yield* oneIn(3))
            ? (sendAt ?? now) + 1 + (yield* below(5 * minute))
            : null
          const to = yield* oneOf([
            { phone: "+15550000001" },
            { phone: "+15550000002" },
            { phone: "+15550010000" },
            { group: "Team" },
            { group: "Strangers" },
          ])
          const key = `key ${yield* below(1_000_000_000)}`
          const input = {
            from,
            to,
            sendAt: sendAt === null ? null : iso(sendAt),
            expiresAt: expiresAt === null ? null : iso(expiresAt),
          }
          // A client that repeats its request until it gets an answer, and then once more.
          for (let attempt = 0; attempt < 8; attempt++) {
            const result = yield* Effect.result(answer(caller, input, key))
            if (result._tag === "Success") {
              const ids = result.success.messages.map(({ id }) => id)
              assert.deepStrictEqual(firstAnswers.get(key) ?? ids, ids)
              if (!firstAnswers.has(key)) for (const id of ids) created.push([caller, id])
              firstAnswers.set(key, ids)
              if (yield* oneIn(2)) return
            } else if (
              result.failure._tag === "Refusal" &&
              result.failure.code !== "idempotency_in_progress"
            ) {
              assert.include(["number_not_found", "time_in_past"], result.failure.code)
              return
            }
            yield* TestClock.adjust(yield* below(5 * second))
          }
        })

        const cancelOne = Effect.gen(function* () {
          if (created.length === 0) return
          const [caller, id] = yield* oneOf(created.slice(-10))
          const fiber = yield* Effect.forkScoped(
            Effect.map(Effect.result(cancel(caller, { id })), ({ _tag }) => _tag === "Success"),
          )
          requests.push({ id, fiber })
        })

        const changeBehaviour = Effect.gen(function* () {
          yield* behave(yield* oneOf(numbers), {
            send: yield* oneOf(["succeed", "succeed", "fail", "hang", "drop", "drop"]),
            latencyMillis: (yield* oneIn(2)) ? 0 : yield* below(70 * second),
            groups: yield* oneOf([["Team"], []]),
          })
        })

        const removeANumber = Effect.gen(function* () {
          if (removed !== undefined) return
          const number = yield* oneOf(numbers)
          yield* Numbers.use((service) => service.remove("owner", workspace, number))
          removed = number
        })

        const changeTrouble = Effect.map(below(3), (drawn) => {
          trouble.chance = drawn === 0 ? 0.05 : 0
        })

        for (let action = 0; action < actions; action++) {
          if (yield* oneIn(20)) {
            yield* leap((yield* below(4 * hour)) - 2 * hour)
          }
          const drawn = yield* below(100)
          const act =
            drawn < 45
              ? send
              : drawn < 60
                ? cancelOne
                : drawn < 68
                  ? Effect.flatMap(oneOf(numbers), logOut)
                  : drawn < 80
                    ? Effect.flatMap(oneOf(numbers), reconnect)
                    : drawn < 92
                      ? changeBehaviour
                      : drawn < 95
                        ? claimAndDie(1)
                        : drawn < 99
                          ? changeTrouble
                          : removeANumber
          // The control failed, with or without having acted.
          yield* Effect.ignore(act as Effect.Effect<unknown, unknown, Effect.Services<typeof act>>)
          yield* TestClock.adjust((yield* oneIn(3)) ? 0 : yield* below(20 * second))
        }

        // After the storm all numbers are back, and there is time enough.
        trouble.chance = 0
        for (const number of numbers) {
          yield* Effect.ignore(reconnect(number))
          yield* Effect.ignore(behave(number, {}))
        }
        yield* TestClock.adjust(hour)
        // Work postponed by a clock set forward waits until that time comes again.
        yield* TestClock.adjust(day)
        yield* settled
        const cancelled = new Set<MessageId>()
        for (const { fiber, id } of requests) if (yield* Fiber.join(fiber)) cancelled.add(id)
        yield* checkBooks({ workspace, numbers, cancelled })
      }),
      { seed, store },
    )
  })

interface Books {
  readonly workspace: Parameters<typeof remaining>[0]
  readonly numbers: ReadonlyArray<NumberId>
  /** Messages with a cancel that was answered with success. */
  readonly cancelled: ReadonlySet<MessageId>
}

const endOf = {
  sent: "message.sent",
  failed: "message.failed",
  cancelled: "message.cancelled",
  expired: "message.expired",
} as const

const checkBooks = ({ cancelled, numbers, workspace }: Books) =>
  Effect.gen(function* () {
    const received = yield* allEvents
    const messages = yield* listMessages(workspace)
    const seen = yield* copies()
    const getCopies = (message: Message) =>
      seen.filter(({ transportId }) => transportId === message.transportId)

    for (const message of messages) {
      const { error, id, mode, state } = message
      const scenario = `message ${id}: ${state} ${error?.code ?? ""}`
      // Exactly one outcome, announced by exactly one event.
      assert.property(endOf, state, scenario)
      assert.deepStrictEqual(
        received.flatMap(({ messageId, type }) => (messageId === id ? [type] : [])),
        [endOf[state as keyof typeof endOf]],
        scenario,
      )
      // Never two copies, and exactly the truth about the one.
      const shown = getCopies(message).length
      if (mode === "test") assert.strictEqual(shown, 0, scenario)
      else if (state === "sent") assert.strictEqual(shown, 1, scenario)
      else if (error?.code === "outcome_unknown") assert.isAtMost(shown, 1, scenario)
      else assert.strictEqual(shown, 0, scenario)
      if (cancelled.has(id)) assert.strictEqual(state, "cancelled", scenario)
    }

    const counting = messages.filter(
      ({ mode, state }) => mode === "live" && state !== "cancelled" && state !== "expired",
    )
    assert.strictEqual(yield* remaining(workspace), allowance - counting.length)
    for (const number of numbers) yield* checkQuota(number, counting)
  })

/** The store's exact count of a number's quota equals the count of its messages. */
const checkQuota = (number: NumberId, counting: ReadonlyArray<Message>) =>
  Effect.gen(function* () {
    const of = counting.filter(({ from }) => from.id === number)
    const [first] = of
    if (first === undefined) return
    const store = (yield* Store).messages
    const now = yield* Clock.currentTimeMillis
    for (const plannedAt of [now, first.dueAt, first.dueAt + 5 * minute, now + day]) {
      const planned = { plannedAt, count: 1, limit: dailyQuota }
      const { named } = yield* store.loadAcceptance({
        workspaceId: first.workspaceId,
        mode: "live",
        now,
        from: number,
        phones: [],
        contactIds: [],
        chatIds: [],
        replyTo: null,
        mediaId: null,
        exactQuota: { numberId: number, planned },
        idempotency: null,
      })
      // Null when the number was removed.
      if (named === null) return
      const times = of.map(({ dueAt }) => dueAt).toSorted((a, b) => a - b)
      assert.deepStrictEqual(named.quota.exact, countExactly(times, planned))
    }
  })

describe("after a storm every message has one outcome, one event and at most one copy", () => {
  it.effect.each(["leaps 4", "leaps 8", "leaps 18"])(
    "%s of the clock",
    (seed) => withLeaps((leap) => runLoad(seed, 250, leap)),
    60_000,
  )
})
