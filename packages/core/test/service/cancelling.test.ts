import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { MessageOperations, Messages, Numbers, Workspaces } from "../../src/index.ts"
import type { Caller, MessageJson, NumberId, WorkspaceId } from "../../src/index.ts"
import {
  arrived,
  behave,
  cancel,
  claimAndDie,
  code,
  events,
  get,
  logOut,
  reconnect,
  refusal,
  remaining,
  send,
  sendBatch,
  status,
  statuses,
} from "./Operations.ts"
import {
  ahead,
  aKey,
  aNumber,
  aSender,
  aWorkspace,
  day,
  hour,
  inAService,
  minute,
  pass,
  second,
  settled,
  startWorker,
} from "./Service.ts"
import { storeWithin } from "./Watched.ts"

/** Cancels while time passes: the answer, and how long it took. */
const cancelAndWait = (caller: Caller, message: MessageJson, waits: number) =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    const request = yield* Effect.forkChild(
      Effect.gen(function* () {
        const result = yield* Effect.result(cancel(caller, message))
        return { result, took: (yield* Clock.currentTimeMillis) - start }
      }),
    )
    yield* TestClock.adjust(waits)
    return yield* Fiber.join(request)
  })

describe("DELETE of a waiting message", () => {
  it.effect("cancels a queued one, answers it as cancelled, and writes its event", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const message = yield* send(key, { from: number })
        assert.deepStrictEqual(yield* cancel(key, message), { ...message, status: "cancelled" })
        assert.deepStrictEqual(yield* get(key, message), { ...message, status: "cancelled" })
        yield* reconnect(number)
        yield* pass(day)
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.cancelled"])
      }),
    ),
  )

  it.effect("cancels a scheduled one, which is then never sent", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { sendAt: yield* ahead(hour) })
        assert.strictEqual((yield* cancel(key, message)).status, "cancelled")
        yield* pass(day)
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.cancelled"])
      }),
    ),
  )

  it.effect("releases those behind it", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const [first, second_, third] = yield* sendBatch(key, 3, { from: number })
        assert.isDefined(first)
        if (first !== undefined) yield* cancel(key, first)
        yield* reconnect(number)
        yield* settled
        assert.deepStrictEqual<unknown>(yield* arrived(), [second_?.id, third?.id])
      }),
    ),
  )

  it.effect("answers not_cancellable with the status once the message no longer waits", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const sent = yield* send(key)
        yield* settled
        const cancelled = yield* send(key, { sendAt: yield* ahead(hour) })
        yield* cancel(key, cancelled)
        const expired = yield* send(key, {
          sendAt: yield* ahead(2),
          expiresAt: yield* ahead(3),
        })
        yield* logOut(number)
        yield* pass(minute)
        yield* reconnect(number)
        yield* behave(number, { send: "fail" })
        const failed = yield* send(key)
        yield* settled
        const received = yield* Effect.forEach([sent, cancelled, expired, failed], (message) =>
          Effect.map(refusal(cancel(key, message)), (refused) => [
            refused.code,
            refused.status,
            refused.details["status"],
          ]),
        )
        assert.deepStrictEqual(received, [
          ["not_cancellable", 409, "sent"],
          ["not_cancellable", 409, "cancelled"],
          ["not_cancellable", 409, "expired"],
          ["not_cancellable", 409, "failed"],
        ])
      }),
    ),
  )

  it.effect("finds a message past its expiresAt expired, even before the sweep", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { expiresAt: yield* ahead(minute) })
        yield* TestClock.adjust(minute)
        const refused = yield* refusal(cancel(key, message))
        assert.deepStrictEqual(
          [refused.code, refused.details["status"]],
          ["not_cancellable", "expired"],
        )
        assert.deepStrictEqual(yield* events(message), ["message.expired"])
      }),
      { worker: false },
    ),
  )

  it.effect("answers message_not_found for an unknown id", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const message = yield* send(key, { from: number, sendAt: yield* ahead(hour) })
        const strangers = [
          yield* aKey(yield* aWorkspace()),
          yield* aKey(workspace, { mode: "test" }),
          yield* aKey(workspace, { numberIds: [other] }),
        ]
        for (const stranger of strangers) {
          assert.strictEqual(yield* code(cancel(stranger, message)), "message_not_found")
          assert.strictEqual(yield* code(get(stranger, message)), "message_not_found")
        }
        const messages = yield* Messages
        const unknown = yield* refusal(messages.cancel(key, undefined))
        assert.deepStrictEqual([unknown.code, unknown.status], ["message_not_found", 404])
        assert.strictEqual(yield* status(key, message), "scheduled")
        const limited = yield* aKey(workspace, { numberIds: [number] })
        assert.strictEqual((yield* cancel(limited, message)).status, "cancelled")
      }),
    ),
  )
})

describe("DELETE of a message in flight", () => {
  it.effect("waits for the attempt to settle, then answers with the settled state", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 3 * second })
        const message = yield* send(key)
        yield* settled
        const { result, took } = yield* cancelAndWait(key, message, 10 * second)
        assert.strictEqual(result._tag, "Failure")
        if (result._tag === "Failure" && result.failure._tag === "Refusal") {
          assert.strictEqual(result.failure.code, "not_cancellable")
          assert.deepStrictEqual(result.failure.details, { status: "sent" })
        }
        assert.isAtLeast(took, 3 * second)
        assert.isAtMost(took, 3 * second + 100)
      }),
    ),
  )

  it.effect("cancels it when the attempt made it wait again", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 3 * second })
        const message = yield* send(key)
        yield* settled
        yield* logOut(number)
        const { result } = yield* cancelAndWait(key, message, 10 * second)
        assert.strictEqual(result._tag === "Success" && result.success.status, "cancelled")
        yield* reconnect(number)
        yield* pass(day)
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.cancelled"])
      }),
    ),
  )

  it.effect("waits at most 5 s, then is not_cancellable", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 30 * second })
        const message = yield* send(key)
        yield* settled
        const { result, took } = yield* cancelAndWait(key, message, 10 * second)
        assert.strictEqual(took, 5 * second)
        assert.strictEqual(result._tag, "Failure")
        if (result._tag === "Failure" && result.failure._tag === "Refusal") {
          assert.strictEqual(result.failure.code, "not_cancellable")
          assert.deepStrictEqual(result.failure.details, { status: "queued", sending: true })
        }
        yield* pass(minute)
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
      }),
    ),
  )
})

describe("a cancel of many while some are in flight", () => {
  /** Cancels while time passes: what the call did, and how long it took. */
  const cancelManyAndWait = (workspaceId: WorkspaceId, ids: ReadonlyArray<number>) =>
    Effect.gen(function* () {
      const start = yield* Clock.currentTimeMillis
      const operations = yield* MessageOperations
      const request = yield* Effect.forkChild(
        Effect.gen(function* () {
          const done = yield* operations.cancelMany("member", workspaceId, { ids })
          return { ...done, took: (yield* Clock.currentTimeMillis) - start }
        }),
      )
      yield* TestClock.adjust(10 * second)
      return yield* Fiber.join(request)
    })

  /** One in flight for that long at each of two numbers, and one that waits behind each. */
  const twoInFlight = (latencies: readonly [first: number, second: number]) =>
    Effect.gen(function* () {
      const { key, number, workspace } = yield* aSender()
      const numbers = [number, yield* aNumber(workspace)]
      const flying: Array<MessageJson> = []
      const behind: Array<MessageJson> = []
      for (const [index, from] of numbers.entries()) {
        yield* behave(from, { latencyMillis: latencies[index] })
        flying.push(yield* send(key, { from }))
        behind.push(yield* send(key, { from }))
      }
      yield* settled
      return { key, workspace, flying, behind, ids: [...flying, ...behind].map(({ id }) => id) }
    })

  it.effect("waits 5 s in all, and leaves to their transports what is still being sent", () =>
    inAService(
      Effect.gen(function* () {
        const { behind, flying, ids, key, workspace } = yield* twoInFlight([30 * second, minute])
        const done = yield* cancelManyAndWait(workspace, ids)
        assert.deepStrictEqual(done, {
          cancelled: 2,
          notCancellable: 2,
          more: false,
          took: 5 * second,
        })
        yield* pass(day)
        for (const message of behind) {
          assert.deepStrictEqual(yield* events(message), ["message.cancelled"])
        }
        for (const message of flying) {
          assert.strictEqual(yield* status(key, message), "sent")
          assert.deepStrictEqual(yield* events(message), ["message.sent"])
        }
        const left = flying.map(({ id }) => id)
        assert.sameMembers<unknown>([...(yield* arrived())], left)
      }),
    ),
  )

  it.effect("answers once the last of them settled", () =>
    inAService(
      Effect.gen(function* () {
        const { ids, workspace } = yield* twoInFlight([second, 3 * second])
        const { took, ...done } = yield* cancelManyAndWait(workspace, ids)
        assert.deepStrictEqual(done, { cancelled: 2, notCancellable: 2, more: false })
        assert.isAtLeast(took, 3 * second)
        assert.isAtMost(took, 3 * second + 100)
      }),
    ),
  )

  it.effect("cancels the one that its attempt made wait again", () =>
    inAService(
      Effect.gen(function* () {
        const { flying, ids, workspace } = yield* twoInFlight([3 * second, 3 * second])
        const [first, other] = flying
        assert.isDefined(first)
        assert.isDefined(other)
        yield* logOut(first.from.id as NumberId)
        const done = yield* cancelManyAndWait(workspace, ids)
        assert.deepStrictEqual([done.cancelled, done.notCancellable], [3, 1])
        yield* reconnect(first.from.id as NumberId)
        yield* pass(day)
        assert.deepStrictEqual<unknown>(yield* arrived(), [other.id])
        assert.deepStrictEqual(yield* events(first), ["message.cancelled"])
      }),
    ),
  )
})

describe("DELETE of a message in flight while the store is slow", () => {
  /** A store with look-ups that take that long; null: only the first one answers. */
  const slowStore = (millis: number | null) => {
    const slow = { is: false, checks: 0 }
    const store = storeWithin((operation, effect) =>
      Effect.suspend(() => {
        if (operation !== "messages.get" || !slow.is) return effect
        slow.checks++
        if (millis !== null) return Effect.delay(effect, millis)
        return slow.checks === 1 ? effect : Effect.never
      }),
    )
    return { slow, store }
  }

  const took = (millis: number | null) => {
    const { slow, store } = slowStore(millis)
    return inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 30 * second })
        const message = yield* send(key)
        yield* settled
        slow.is = true
        const cancelled = yield* cancelAndWait(key, message, minute)
        slow.is = false
        assert.strictEqual(cancelled.result._tag, "Failure")
        if (cancelled.result._tag === "Failure" && cancelled.result.failure._tag === "Refusal") {
          const { details } = cancelled.result.failure
          assert.deepStrictEqual(details, { status: "queued", sending: true })
        }
        return cancelled.took
      }),
      { store },
    )
  }

  it.effect("waits 5 s in all, look-ups included", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* took(200), 5 * second)
      assert.strictEqual(yield* took(3 * second), 5 * second)
      assert.strictEqual(yield* took(null), 5 * second)
    }),
  )
})

describe("a cancelled message is never sent, even if a worker was about to claim it", () => {
  it.effect("cancelled before the claim: nothing is claimed", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key)
        yield* cancel(key, message)
        assert.deepStrictEqual(yield* claimAndDie(), [])
        yield* startWorker
        yield* pass(day)
        assert.deepStrictEqual(yield* arrived(), [])
      }),
      { worker: false },
    ),
  )

  it.effect("claimed before the cancel: it is not cancelled, and leaves", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key)
        assert.lengthOf(yield* claimAndDie(), 1)
        const { result } = yield* cancelAndWait(key, message, 5 * second)
        assert.strictEqual(result._tag, "Failure")
        // The worker that claimed it dies; another one repeats its attempt.
        yield* startWorker
        yield* pass(minute)
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual<unknown>(yield* arrived(), [message.id])
      }),
      { worker: false },
    ),
  )

  it.effect("a race of cancel and send ends in exactly one outcome", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 10 })
        const messages = yield* sendBatch(key, 100)
        const requests = yield* Effect.forEach(messages, (message, index) =>
          Effect.forkChild(
            Effect.andThen(Effect.sleep(index * 7), Effect.result(cancel(key, message))),
          ),
        )
        yield* pass(minute)
        const results = yield* Effect.forEach(requests, Fiber.join)
        const seen = new Set<unknown>(yield* arrived())
        const ended = yield* statuses(key, messages)
        for (const [index, message] of messages.entries()) {
          const cancelled = results[index]?._tag === "Success"
          assert.strictEqual(ended[index], cancelled ? "cancelled" : "sent")
          assert.strictEqual(seen.has(message.id), !cancelled)
          assert.deepStrictEqual(yield* events(message), [
            cancelled ? "message.cancelled" : "message.sent",
          ])
        }
        assert.includeMembers(ended, ["cancelled", "sent"])
      }),
    ),
  )
})

describe("removing a number or a workspace", () => {
  it.effect("cancels the number's waiting messages, each with its event, before it answers", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender(10)
        const other = yield* aNumber(workspace)
        yield* logOut(number)
        yield* logOut(other)
        const queued = yield* sendBatch(key, 3, { from: number })
        const scheduled = yield* send(key, { from: number, sendAt: yield* ahead(hour) })
        const kept = yield* send(key, { from: other })
        const test = yield* aKey(workspace, { mode: "test" })
        const testScheduled = yield* send(test, { from: number, sendAt: yield* ahead(hour) })
        assert.strictEqual(yield* remaining(workspace), 5)
        const numbers = yield* Numbers
        yield* numbers.remove("owner", workspace, number)
        assert.deepStrictEqual(
          yield* statuses(key, [...queued, scheduled]),
          Array.from({ length: 4 }, () => "cancelled"),
        )
        assert.strictEqual(yield* status(test, testScheduled), "cancelled")
        for (const message of [...queued, scheduled, testScheduled]) {
          assert.deepStrictEqual(yield* events(message), ["message.cancelled"])
        }
        assert.strictEqual(yield* status(key, kept), "queued")
        assert.strictEqual(yield* remaining(workspace), 9)
        yield* pass(day)
        assert.deepStrictEqual(yield* arrived(), [])
        assert.strictEqual(yield* code(send(key, { from: number })), "number_not_found")
      }),
    ),
  )

  it.effect("cancels the workspace's waiting messages, each with its event", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const bystander = yield* aSender()
        yield* logOut(number)
        yield* logOut(bystander.number)
        const waiting = yield* sendBatch(key, 1000, { from: number })
        const kept = yield* send(bystander.key, { from: bystander.number })
        yield* Workspaces.use((workspaces) => workspaces.delete("owner", workspace))
        for (const message of waiting.slice(0, 20)) {
          assert.deepStrictEqual(yield* events(message), ["message.cancelled"])
        }
        const left = yield* statuses(key, waiting)
        assert.deepStrictEqual(new Set(left), new Set(["cancelled"]))
        assert.strictEqual(yield* status(bystander.key, kept), "queued")
        yield* pass(day)
        assert.deepStrictEqual(yield* arrived(), [])
      }),
    ),
  )

  it.effect("lets an attempt in flight end, and reports its result", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* behave(number, { latencyMillis: 10 * second })
        const [first, second_] = yield* sendBatch(key, 2)
        yield* settled
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        assert.strictEqual(yield* status(key, second_!), "cancelled")
        yield* pass(minute)
        // The phone was taken away before it could send: nothing left.
        assert.deepStrictEqual(yield* arrived(), [])
        assert.strictEqual(yield* status(key, first!), "cancelled")
        assert.deepStrictEqual(yield* events(first!), ["message.cancelled"])
      }),
    ),
  )
})
