/**
 * Logs and counts what happens to messages and numbers, after the commit: what a store did not
 * write is not reported. Success, the usual case, allocates nothing.
 */
import { Effect, Layer } from "effect"
import { StoreUnavailable } from "../model/Refusal.ts"
import { EventSignal } from "./EventFeed.ts"
import type { MessageChange } from "../model/MessageChange.ts"
import type { MessageId } from "../model/Ids.ts"
import type { Acceptance } from "../model/accept.ts"
import type { Settlement } from "../model/Lane.ts"
import type { ChatStore } from "../store/ChatStore.ts"
import { Store } from "../store/Store.ts"
import { instantOrNull } from "../model/Time.ts"
import { WorkGate } from "./Readiness.ts"
import { logThrottled } from "./logThrottled.ts"
import {
  countAccepted,
  countAttempts,
  countEnded,
  countReceived,
  countRowsTaken,
  countUnreadable,
} from "../store/Metrics.ts"

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

const toMessageId = (settlement: Settlement): MessageId =>
  settlement._tag === "Ended" ? settlement.change.message.id : settlement.messageId

/** Logs each number that its circuit breaker paused. */
const logPauses = (
  settlements: ReadonlyArray<Settlement>,
  settled: ReadonlySet<MessageId>,
): Effect.Effect<void> => {
  let logs: Effect.Effect<void> = Effect.void
  for (const settlement of settlements) {
    const pause = settlement.breaker?.pause ?? null
    if (pause === null || !settled.has(toMessageId(settlement))) continue
    const paused = {
      number: settlement.numberId,
      reason: pause.reason,
      until: instantOrNull(pause.until),
    }
    const log = logThrottled("number paused", paused, "Warn")
    logs = Effect.andThen(logs, log)
  }
  return logs
}

/** Accepts while the gate is open, and counts. */
const accepting =
  ({ pass }: typeof WorkGate.Service) =>
  <A extends { readonly _tag: string }>(
    acceptance: Acceptance,
    accept: Effect.Effect<A, StoreUnavailable>,
    success = "Accepted",
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
      Effect.tap(({ _tag }) => (_tag === success ? countAccepted(acceptance) : Effect.void)),
    )

const countedChats = (chats: ChatStore, wake: Effect.Effect<void>): ChatStore => ({
  ...chats,
  receive: (numberId, received, now) =>
    Effect.tap(chats.receive(numberId, received, now), (outcomes) =>
      Effect.andThen(countReceived(outcomes), wake),
    ),
  endCopyWaits: (now, eventIds) =>
    Effect.tap(chats.endCopyWaits(now, eventIds), (ended) =>
      ended === 0 ? Effect.void : Effect.andThen(countUnreadable(ended), wake),
    ),
})

/**
 * The store for the core. It counts after each commit: every change is counted here and nowhere
 * else. It also wakes this process's event listeners, and accepts nothing while the gate is closed.
 */
export const layerCountedStore = Layer.effect(
  Store,
  Effect.gen(function* countedStore() {
    const store = yield* Store
    const { campaigns, chats, messages, queue, reminders, webhooks } = store
    const { wake } = yield* EventSignal
    const accept = accepting(yield* WorkGate)
    const ended = (changes: ReadonlyArray<MessageChange>) =>
      changes.length === 0
        ? Effect.void
        : Effect.andThen(countEnded(changes), Effect.andThen(logFailures(changes), wake))
    return {
      ...store,
      messages: {
        ...messages,
        accept: (acceptance) => accept(acceptance, messages.accept(acceptance)),
        insertRefused: (refused) =>
          Effect.tap(messages.insertRefused(refused), (change) =>
            change === null ? Effect.void : ended([change]),
          ),
        // A caller that hangs up must not keep the event from this process's listeners.
        end: (changes, options) =>
          Effect.tap(messages.end(changes, options), (done) =>
            ended(changes.filter(({ message }) => done.has(message.id))),
          ).pipe(Effect.uninterruptible),
      },
      queue: {
        ...queue,
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
      },
      chats: countedChats(chats, wake),
      campaigns: {
        ...campaigns,
        take: (take) => {
          const { acceptance } = take
          if (acceptance === null) return campaigns.take(take)
          const counted = accept(acceptance, campaigns.take(take), "Taken")
          return Effect.tap(counted, ({ _tag }) =>
            _tag === "Taken" ? countRowsTaken(take.taken.length) : Effect.void,
          )
        },
      },
      reminders: {
        ...reminders,
        run: (acceptance, run) => accept(acceptance, reminders.run(acceptance, run)),
      },
      webhooks: {
        ...webhooks,
        settleDeliveries: (results) =>
          Effect.tap(webhooks.settleDeliveries(results), countAttempts(results)),
        settleAndClaimDeliveries: (results, query) =>
          Effect.tap(webhooks.settleAndClaimDeliveries(results, query), countAttempts(results)),
      },
    }
  }),
)
