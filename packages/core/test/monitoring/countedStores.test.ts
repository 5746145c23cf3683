/** Counters follow the commit: what a store did not write is not counted. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import type { ReceivedOutcome } from "../../src/model/Incoming.ts"
import type { MessageId, NumberId } from "../../src/model/Ids.ts"
import type { MessageState } from "../../src/model/Message.ts"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import { EventSignal } from "../../src/service/EventFeed.ts"
import type { MessageChange } from "../../src/model/MessageChange.ts"
import type { MessageStore } from "../../src/store/MessageStore.ts"
import type { Acceptance, AcceptanceOutcome } from "../../src/model/accept.ts"
import { layerCountedStore } from "../../src/service/Settlements.ts"
import { NumberMoved } from "../../src/service/NumberOwnership.ts"
import { Readiness, WorkGate } from "../../src/service/Readiness.ts"
import { startCounting, timeStoring, unstoredSeconds } from "../../src/store/Metrics.ts"
import type { DeliveryResult } from "../../src/store/WebhookStore.ts"
import { unchangedLane } from "../../src/model/Lane.ts"
import type { Settlement } from "../../src/model/Lane.ts"
import type { ReminderRun, RunCommit } from "../../src/model/Reminder.ts"
import type { Mode } from "../../src/model/Workspace.ts"
import { Store } from "../../src/store/Store.ts"
import { interruptEverywhere, storeWith } from "@messaging-service/testkit"

/** Only the counted fields of an acceptance and of a change matter here. */
const anAcceptance = (mode: Mode, count: number) =>
  ({ mode, messages: Array.from({ length: count }) }) as unknown as Acceptance

const aChange = (id: number, state: MessageState, mode: Mode = "live") =>
  ({ message: { id, mode, state, from: { id: 7 } } }) as unknown as MessageChange

const ended = (id: number, state: MessageState): Settlement => ({
  _tag: "Ended",
  numberId: 7 as NumberId,
  lease: 1,
  ...unchangedLane,
  change: aChange(id, state),
})

const aResult = (error: DeliveryResult["error"], kind: DeliveryResult["kind"] = "webhook") =>
  ({ error, kind }) as DeliveryResult

const ids = (...all: ReadonlyArray<number>) => new Set(all as ReadonlyArray<MessageId>)

const layerGate = WorkGate.layer.pipe(
  Layer.provide(Layer.mock(Readiness, { raise: () => Effect.void })),
)

interface Answers {
  readonly accept?: AcceptanceOutcome
  readonly run?: RunCommit
  readonly became?: ReadonlyArray<ReceivedOutcome["became"]>
  /** The ids that the store has ended or settled. */
  readonly written?: ReadonlySet<MessageId>
  readonly refused?: MessageChange | null
}

const accepted: AcceptanceOutcome & RunCommit = { _tag: "Accepted", ids: [], runId: 1 }

/** Non-zero counters after the effect has used a store with these answers. */
const countedBy = <E>(answers: Answers, use: Effect.Effect<unknown, E, Store>) => {
  const { accept = accepted, became = [], refused = null, run = accepted } = answers
  const { written = ids() } = answers
  const stores = storeWith({
    messages: {
      accept: () => Effect.succeed(accept),
      end: () => Effect.succeed(written),
      insertRefused: () => Effect.succeed(refused),
    },
    queue: {
      settle: () =>
        Effect.succeed({ settled: written, next: new Map(), comesAgain: false, blockedByLock: [] }),
    },
    reminders: { run: () => Effect.succeed(run) },
    webhooks: { settleDeliveries: () => Effect.void },
    chats: {
      receive: () => Effect.succeed(became.map((one) => ({ id: null, became: one }))),
      endCopyWaits: () => Effect.succeed(2),
    },
  })
  return Effect.gen(function* () {
    yield* startCounting
    yield* use
    const counters = (yield* Metric.snapshot).flatMap(({ attributes, id, state }) =>
      "count" in state && Number(state.count) > 0
        ? [[id, Object.values(attributes ?? {}).join(" "), Number(state.count)] as const]
        : [],
    )
    return counters.toSorted(([, a], [, b]) => (a < b ? -1 : 1))
  }).pipe(
    Effect.provide(
      Layer.provide(layerCountedStore, Layer.mergeAll(stores, EventSignal.layer, layerGate)),
    ),
    Effect.provideService(Metric.MetricRegistry, new Map()),
  )
}

describe("counted stores", () => {
  it.effect("count the messages of an acceptance and of a reminder's run", () =>
    Effect.gen(function* () {
      const counted = yield* countedBy(
        {},
        Effect.gen(function* () {
          yield* (yield* Store).messages.accept(anAcceptance("live", 3))
          yield* (yield* Store).messages.accept(anAcceptance("test", 1))
          yield* (yield* Store).reminders.run(anAcceptance("live", 1), {} as ReminderRun)
        }),
      )
      assert.deepStrictEqual(counted, [
        ["messaging_messages_accepted_total", "live", 4],
        ["messaging_messages_accepted_total", "test", 1],
      ])
    }),
  )

  it.effect("count what was received, what came again or was never readable, and gaps", () =>
    Effect.gen(function* () {
      const counted = yield* countedBy(
        { became: ["stored", "stored", "repeat", "told", "waiting", "changed", "dropped"] },
        Effect.gen(function* () {
          yield* (yield* Store).chats.receive(7 as NumberId, [], 0)
          yield* (yield* Store).chats.endCopyWaits(0, [])
        }),
      )
      assert.sameDeepMembers(counted, [
        ["messaging_received_messages_total", "", 4],
        ["messaging_received_repeats_total", "", 1],
        ["messaging_received_unreadable_total", "", 2],
        ["messaging_received_gaps_total", "", 1],
      ])
    }),
  )

  it.effect("count nothing that a guard kept from being written", () =>
    Effect.gen(function* () {
      const counted = yield* countedBy(
        {
          accept: { _tag: "Conflict", guard: "quota" },
          run: { _tag: "Conflict", guard: "reminder" },
        },
        Effect.gen(function* () {
          yield* (yield* Store).messages.accept(anAcceptance("live", 3))
          yield* (yield* Store).reminders.run(anAcceptance("live", 1), {} as ReminderRun)
          yield* (yield* Store).messages.end([aChange(1, "cancelled")])
          yield* (yield* Store).queue.settle([ended(2, "sent")], 0)
          const refused = {} as Parameters<MessageStore["insertRefused"]>[0]
          yield* (yield* Store).messages.insertRefused(refused)
        }),
      )
      assert.deepStrictEqual(counted, [])
    }),
  )

  it.effect("count each ended message by its end, once written", () =>
    Effect.gen(function* () {
      const counted = yield* countedBy(
        { written: ids(1, 2, 4), refused: aChange(9, "failed") },
        Effect.gen(function* () {
          yield* (yield* Store).messages.end([aChange(1, "expired"), aChange(3, "expired")])
          yield* (yield* Store).messages.end([aChange(2, "sent", "test")])
          yield* (yield* Store).queue.settle([ended(4, "sent"), ended(5, "failed")], 0)
          const refused = {} as Parameters<MessageStore["insertRefused"]>[0]
          yield* (yield* Store).messages.insertRefused(refused)
        }),
      )
      assert.deepStrictEqual(counted, [
        ["messaging_messages_ended_total", "live expired", 1],
        ["messaging_messages_ended_total", "live failed", 1],
        ["messaging_messages_ended_total", "live sent", 1],
        ["messaging_messages_ended_total", "test sent", 1],
      ])
    }),
  )

  it.effect("count webhook and callback attempts by outcome", () =>
    Effect.gen(function* () {
      const webhooks = [aResult(null), aResult("timeout"), aResult("http_status"), aResult(null)]
      const results = [...webhooks, aResult(null, "callback"), aResult("dns", "callback")]
      const counted = yield* countedBy(
        {},
        Store.use(({ webhooks: queue }) => queue.settleDeliveries(results)),
      )
      assert.deepStrictEqual(counted, [
        ["messaging_webhook_attempts_total", "delivered", 2],
        ["messaging_callback_attempts_total", "delivered", 1],
        ["messaging_callback_attempts_total", "dns", 1],
        ["messaging_webhook_attempts_total", "http_status", 1],
        ["messaging_webhook_attempts_total", "timeout", 1],
      ])
    }),
  )

  it.effect("tell listeners of a message's end, however its caller is interrupted", () => {
    let isEnded = false
    const stores = storeWith({
      messages: {
        end: () =>
          Effect.suspend(() => {
            isEnded = true
            return Effect.as(Effect.yieldNow, ids(1))
          }),
      },
    })
    const counted = Layer.provide(layerCountedStore, Layer.merge(stores, layerGate))
    return Effect.gen(function* () {
      const latch = yield* (yield* EventSignal).latch
      const { messages } = yield* Store
      yield* interruptEverywhere(messages.end([aChange(1, "cancelled")]), (operation) =>
        Effect.gen(function* () {
          const isTold = !isEnded || latch.isOpen()
          assert.isTrue(isTold, `interrupted before operation ${operation}`)
          isEnded = false
          yield* latch.close
        }),
      )
    }).pipe(Effect.provide(Layer.provideMerge(counted, EventSignal.layer)))
  })
})

describe("what waits for the store", () => {
  const outage = Effect.fail(new StoreUnavailable({ operation: "test", cause: "away" }))
  const store = <E extends { readonly _tag: string }>(write: Effect.Effect<void, E>) =>
    Effect.ignore(timeStoring(7 as NumberId, write))
  const isolated = Effect.provideService(Metric.MetricRegistry, new Map())

  it.effect("is timed from its first try on, until the store takes it", () =>
    Effect.gen(function* () {
      assert.isNull(yield* unstoredSeconds)
      yield* store(outage)
      yield* TestClock.adjust(20_000)
      yield* store(outage)
      yield* TestClock.adjust(10_000)
      assert.strictEqual(yield* unstoredSeconds, 30)
      yield* store(Effect.void)
      assert.strictEqual(yield* unstoredSeconds, 0)
    }).pipe(isolated),
  )

  it.effect("waits no more once its number was let go", () =>
    Effect.gen(function* () {
      yield* store(outage)
      yield* TestClock.adjust(61_000)
      assert.strictEqual(yield* unstoredSeconds, 0)
      yield* store(Effect.fail(new NumberMoved({ numberId: 7 as NumberId })))
      assert.strictEqual(yield* unstoredSeconds, 0)
    }).pipe(isolated),
  )
})
