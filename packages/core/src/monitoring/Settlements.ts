/**
 * Logs and counts what happens to messages and numbers, after the commit: what a store did not
 * write is not reported. Success, the usual case, allocates nothing.
 */
import { Effect, Layer } from "effect"
import type { Context } from "effect"
import { StoreUnavailable } from "../error/Refusal.ts"
import { EventSignal } from "../event/EventFeed.ts"
import type { MessageChange } from "../event/MessageChange.ts"
import type { MessageId } from "../Ids.ts"
import { MessageStore } from "../message/MessageStore.ts"
import type { Acceptance } from "../message/MessageStore.ts"
import { LaneQueue } from "../queue/Lane.ts"
import type { Settlement } from "../queue/Lane.ts"
import { ReminderStore } from "../reminder/Reminder.ts"
import { formatInstant } from "../time/Time.ts"
import { DeliveryQueue } from "../webhook/WebhookStore.ts"
import { WorkGate } from "./Readiness.ts"
import { logThrottled } from "./logThrottled.ts"
import { countAccepted, countAttempts, countEnded } from "./Metrics.ts"

const logFailed = ({ message: { error, from, id } }: MessageChange): Effect.Effect<void> =>
  logThrottled("message failed", {
    // Not `message`: JSON log lines keep their text there.
    message_id: id,
    number: from.id,
    code: error?.code ?? null,
  })

/** Logs each failed message. */
const logFailures = (changes: ReadonlyArray<MessageChange>): Effect.Effect<void> => {
  let logs: Effect.Effect<void> = Effect.void
  for (const change of changes) {
    if (change.message.state === "failed") logs = Effect.andThen(logs, logFailed(change))
  }
  return logs
}

const messageOf = (settlement: Settlement): MessageId =>
  settlement._tag === "Ended" ? settlement.change.message.id : settlement.messageId

/** Logs each number that its circuit breaker paused. */
const logPauses = (
  settlements: ReadonlyArray<Settlement>,
  settled: ReadonlySet<MessageId>,
): Effect.Effect<void> => {
  let logs: Effect.Effect<void> = Effect.void
  for (const settlement of settlements) {
    const pause = settlement.breaker?.pause ?? null
    if (pause === null || !settled.has(messageOf(settlement))) continue
    const log = logThrottled("number paused", {
      number: settlement.numberId,
      reason: pause.reason,
      until: pause.until === null ? null : formatInstant(pause.until),
    })
    logs = Effect.andThen(logs, log)
  }
  return logs
}

// Store ports that count after each commit: every change is counted here and nowhere else. They
// also wake this process's event listeners, and accept nothing while the gate is closed.

/** The port with some methods replaced; they may report ended messages. */
const over = <Port, Shape extends object>(
  port: Context.Service<Port, Shape>,
  replaced: (
    real: Shape,
    ended: (changes: ReadonlyArray<MessageChange>) => Effect.Effect<void>,
    accept: ReturnType<typeof accepting>,
  ) => Partial<Shape>,
) =>
  Layer.effect(
    port,
    Effect.gen(function* make() {
      const real = yield* port
      const { wake } = yield* EventSignal
      const ended = (changes: ReadonlyArray<MessageChange>) =>
        changes.length === 0
          ? Effect.void
          : Effect.andThen(countEnded(changes), Effect.andThen(logFailures(changes), wake))
      return { ...real, ...replaced(real, ended, accepting(yield* WorkGate)) }
    }),
  )

/** Accepts while the gate is open, and counts. */
const accepting =
  ({ pass }: typeof WorkGate.Service) =>
  <A extends { readonly _tag: string }>(
    acceptance: Acceptance,
    accept: Effect.Effect<A, StoreUnavailable>,
  ): Effect.Effect<A, StoreUnavailable> =>
    pass.pipe(
      Effect.mapError(
        (refusal) =>
          new StoreUnavailable({
            operation: "accept",
            cause: refusal,
            retryAfter: refusal.retryAfter ?? 1,
          }),
      ),
      Effect.andThen(accept),
      Effect.tap(({ _tag }) => (_tag === "Accepted" ? countAccepted(acceptance) : Effect.void)),
    )

/** Wraps the stores for the core. */
export const layerCountedStores = Layer.mergeAll(
  over(MessageStore, (store, ended, accept) => ({
    accept: (acceptance) => accept(acceptance, store.accept(acceptance)),
    insertRefused: (refused) =>
      Effect.tap(store.insertRefused(refused), (change) =>
        change === null ? Effect.void : ended([change]),
      ),
    end: (changes) =>
      Effect.tap(store.end(changes), (done) =>
        ended(changes.filter(({ message }) => done.has(message.id))),
      ),
  })),
  over(LaneQueue, (queue, ended) => ({
    settle: (settlements, now) =>
      Effect.tap(queue.settle(settlements, now), ({ settled }) =>
        ended(
          settlements.flatMap((settlement) =>
            settlement._tag === "Ended" && settled.has(settlement.change.message.id)
              ? settlement.change
              : [],
          ),
        ).pipe(Effect.andThen(logPauses(settlements, settled))),
      ),
  })),
  over(ReminderStore, (store, _, accept) => ({
    run: (acceptance, run) => accept(acceptance, store.run(acceptance, run)),
  })),
  over(DeliveryQueue, (queue) => ({
    settle: (results) => Effect.tap(queue.settle(results), countAttempts(results)),
    settleAndClaim: (results, query) =>
      Effect.tap(queue.settleAndClaim(results, query), countAttempts(results)),
  })),
)
