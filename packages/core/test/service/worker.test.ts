import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable, figureStreams, sharedLimits, Store } from "../../src/index.ts"
import type { MessageJson } from "../../src/index.ts"
import {
  arrived,
  behave,
  copies,
  events,
  logOut,
  reconnect,
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
  day,
  hour,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
  startWorker,
  stopWorker,
} from "./Service.ts"
import type { TestService } from "./Service.ts"
import { storeWithin } from "./Watched.ts"
import type { Around } from "./Watched.ts"

/** Counts calls to the store. */
const counting = () => {
  const requests = new Map<string, number>()
  const around: Around = (operation, effect) =>
    Effect.suspend(() => {
      requests.set(operation, (requests.get(operation) ?? 0) + 1)
      return effect
    })
  return { requests, store: storeWithin(around) }
}

/** Housekeeping's calls every ten minutes. */
const isHousekeeping = (operation: string) =>
  /^(system\.(?:retainedWorkspaces|erase)|messages\.(?:forgetVoidClaims|earlyTicks)|webhooks\.forget|figures\.|system\.forget|reminders\.forget|campaigns\.forget|chats\.eraseReceived|numberChecks\.forget|browserSessions\.forget|media\.)/.test(
    operation,
  )

describe("an idle worker", () => {
  type TestSender = Effect.Success<ReturnType<typeof aSender>>

  /** An idle worker's calls to the store in a day. */
  const requestsInADay = (
    prepare: (sender: TestSender) => Effect.Effect<void, unknown, TestService>,
  ) => {
    const { requests, store } = counting()
    return inAService(
      Effect.gen(function* () {
        yield* prepare(yield* aSender())
        yield* settled
        requests.clear()
        yield* TestClock.adjust(day)
        return [...requests]
      }),
      { store },
    )
  }

  it.effect("calls the store only for housekeeping, every ten minutes", () =>
    Effect.gen(function* () {
      const requests = yield* requestsInADay(() => Effect.void)
      for (const [operation, times] of requests) {
        assert.isTrue(isHousekeeping(operation), operation)
        const each = operation === "figures.readUncounted" ? figureStreams.length : 1
        assert.isAtMost(times, each * (6 * 24 + 1), operation)
      }
    }),
  )

  it.effect("ignores messages that wait for a later day or for their number", () =>
    Effect.gen(function* () {
      const requests = yield* requestsInADay(({ key, number, workspace }) =>
        Effect.gen(function* () {
          const lost = yield* aNumber(workspace, { status: "disconnected" })
          const test = yield* aKey(workspace, { mode: "test" })
          yield* sendBatch(key, 10, { from: lost })
          yield* sendBatch(key, 10, { from: number, sendAt: yield* ahead(10 * day) })
          yield* sendBatch(test, 10, { from: number, sendAt: yield* ahead(10 * day) })
          yield* send(key, { from: lost, expiresAt: yield* ahead(10 * day) })
        }).pipe(Effect.orDie),
      )
      assert.deepStrictEqual(
        requests.filter(([operation]) => !isHousekeeping(operation)),
        [],
      )
    }),
  )

  it.effect("makes few calls for a message that takes long to send", () =>
    Effect.gen(function* () {
      const { requests, store } = counting()
      yield* inAService(
        Effect.gen(function* () {
          const { key, number } = yield* aSender()
          yield* behave(number, { latencyMillis: 59 * second })
          yield* send(key)
          yield* settled
          requests.clear()
          yield* TestClock.adjust(minute)
          // Renewed every ten seconds, then settled.
          assert.isAtMost(requests.get("queue.renew") ?? 0, 6)
          assert.strictEqual(requests.get("queue.settle"), 1)
          assert.isAtMost(requests.get("queue.claim") ?? 0, 5)
        }),
        { store },
      )
    }),
  )
})

describe("a workspace whose numbers all hang", () => {
  it.effect("gets its share of a worker and no more, with few calls meanwhile", () =>
    Effect.gen(function* () {
      const { requests, store } = counting()
      yield* inAService(
        Effect.gen(function* () {
          const { key, workspace } = yield* aSender()
          const modest = yield* aSender()
          const { most } = sharedLimits.lanes.share
          for (let createdCount = 0; createdCount < most + 20; createdCount++) {
            const number = yield* aNumber(workspace)
            yield* behave(number, { send: "hang" })
            yield* send(key, { from: number })
          }
          yield* settled
          const { inFlight } = yield* Store.use(({ queue: work }) => work.workload(noon))
          assert.lengthOf(inFlight, most)
          requests.clear()
          yield* TestClock.adjust(20 * second)
          assert.isAtMost(requests.get("queue.claim") ?? 0, 5)
          const message = yield* send(modest.key)
          yield* settled
          assert.strictEqual(yield* status(modest.key, message), "sent")
        }),
        { store },
      )
    }),
  )
})

describe("a worker", () => {
  it.effect("finishes what is in flight when stopped, and claims nothing more", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 5 * second })
        const worker = yield* startWorker
        const [first, second_] = yield* sendBatch(key, 2)
        yield* settled
        yield* TestClock.adjust(second)
        yield* stopWorker(worker)
        assert.deepStrictEqual(yield* statuses(key, [first!, second_!]), ["sent", "queued"])
        assert.strictEqual(yield* Clock.currentTimeMillis, noon + 5 * second)
        assert.lengthOf(yield* copies(), 1)
        yield* startWorker
        yield* pass(minute)
        assert.deepStrictEqual(yield* statuses(key, [first!, second_!]), ["sent", "sent"])
        assert.lengthOf(yield* copies(), 2)
      }),
      { worker: false },
    ),
  )

  it.effect("abandons what hangs 8 s after the stop, and another repeats it", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const worker = yield* startWorker
        const message = yield* send(key)
        yield* settled
        yield* stopWorker(worker)
        assert.isAtMost((yield* Clock.currentTimeMillis) - noon, 9 * second)
        yield* behave(number, {})
        yield* startWorker
        yield* pass(minute)
        assert.strictEqual(yield* status(key, message), "sent")
        assert.lengthOf(yield* copies(), 1)
      }),
      { worker: false },
    ),
  )

  it.effect("shares the lanes with another one, and nothing is sent twice", () =>
    inAService(
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        const key = yield* aKey(workspace)
        const numbers = yield* Effect.forEach([1, 2, 3, 4, 5], () => aNumber(workspace))
        yield* startWorker
        yield* startWorker
        const messages = yield* Effect.forEach(numbers, (from) =>
          Effect.andThen(behave(from, { latencyMillis: 100 }), sendBatch(key, 20, { from })),
        )
        yield* pass(hour)
        const all = yield* arrived()
        assert.lengthOf(all, 100)
        assert.strictEqual(new Set(all).size, 100)
        for (const message of messages.flat()) {
          assert.deepStrictEqual(yield* events(message), ["message.sent"])
        }
      }),
    ),
  )

  it.effect("continues after an outage of the store, and loses nothing", () => {
    let down = false
    const isRequested = /^(queue|messages\.forgetVoidClaims)/
    const store = storeWithin((operation, effect) =>
      Effect.gen(function* () {
        if (down && isRequested.test(operation)) {
          return yield* new StoreUnavailable({ operation, cause: "down" })
        }
        return yield* effect
      }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 10 * second })
        const messages = yield* sendBatch(key, 3)
        yield* TestClock.adjust(5 * second)
        // The outage began with an attempt in flight, which settles after it.
        down = true
        yield* TestClock.adjust(hour)
        down = false
        yield* TestClock.adjust(minute)
        yield* settled
        assert.deepStrictEqual(yield* statuses(key, messages), ["sent", "sent", "sent"])
        assert.lengthOf(yield* copies(), 3)
      }),
      { store },
    )
  })

  it.effect("continues when a call to the store was interrupted, and loses nothing", () => {
    let cutsOff = ""
    const store = storeWithin((operation, effect) =>
      Effect.suspend(() => (operation === cutsOff ? Effect.interrupt : effect)),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 20 * second })
        for (const operation of ["claim", "renew", "settle"]) {
          const message = yield* send(key)
          if (operation !== "claim") yield* settled
          cutsOff = `queue.${operation}`
          yield* TestClock.adjust(30 * second)
          cutsOff = ""
          yield* TestClock.adjust(5 * minute)
          assert.strictEqual(yield* status(key, message), "sent", operation)
        }
        cutsOff = "queue.nextDue"
        yield* TestClock.adjust(minute)
        cutsOff = ""
        yield* TestClock.adjust(minute)
        const last = yield* send(key)
        yield* pass(minute)
        assert.strictEqual(yield* status(key, last), "sent")
        assert.lengthOf(yield* copies(), 4)
      }),
      { store },
    )
  })

  it.effect("continues when housekeeping fails", () => {
    const store = storeWithin((operation, effect) =>
      operation === "messages.forgetVoidClaims" ? Effect.die(new Error("a bug")) : effect,
    )
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* pass(hour)
        const message = yield* send(key)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
      }),
      { store },
    )
  })
})

it.effect(
  "a year of service runs in seconds",
  () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const test = yield* aKey(workspace, { mode: "test" })
        const messages: Array<MessageJson> = []
        for (let week = 0; week < 52; week++) {
          for (let weekday = 0; weekday < 7; weekday++) {
            const sendAt = yield* ahead(weekday * day + hour)
            messages.push(yield* send(key, { from: number, sendAt }))
          }
          yield* send(test, { from: number, sendAt: yield* ahead(3 * day) })
          yield* logOut(number)
          yield* pass(2 * day)
          yield* reconnect(number)
          yield* pass(5 * day)
        }
        assert.strictEqual(yield* Clock.currentTimeMillis, noon + 364 * day)
        assert.deepStrictEqual<unknown>(
          yield* arrived(),
          messages.map(({ id }) => id),
        )
        assert.deepStrictEqual(new Set(yield* statuses(key, messages)), new Set(["sent"]))
      }),
    ),
  // Seconds on an idle machine.
  120_000,
)
