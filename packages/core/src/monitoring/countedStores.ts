/**
 * The ports through which messages and deliveries change, with a count after each commit: each
 * change is counted here and nowhere else, whichever service makes it. What a store did not write
 * is not counted.
 */
import { Effect, Layer } from "effect"
import { MessageStore } from "../message/MessageStore.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import { LaneQueue } from "../queue/LaneQueue.ts"
import { ReminderStore } from "../reminder/Reminder.ts"
import { countAccepted, countAttempts, countEnded } from "./counters.ts"

const layerMessages = Layer.effect(
  MessageStore,
  Effect.map(MessageStore, (store) =>
    MessageStore.of({
      ...store,
      accept: (acceptance) =>
        Effect.tap(store.accept(acceptance), ({ _tag }) =>
          _tag === "Accepted" ? countAccepted(acceptance) : Effect.void,
        ),
      insertRefused: (refused) =>
        Effect.tap(store.insertRefused(refused), (change) =>
          change === null ? Effect.void : countEnded([change]),
        ),
      end: (changes) =>
        Effect.tap(store.end(changes), (ended) =>
          countEnded(changes.filter(({ message }) => ended.has(message.id))),
        ),
    }),
  ),
)

const layerLanes = Layer.effect(
  LaneQueue,
  Effect.map(LaneQueue, (queue) =>
    LaneQueue.of({
      ...queue,
      settle: (settlements, now) =>
        Effect.tap(queue.settle(settlements, now), (settled) =>
          countEnded(
            settlements.flatMap((settlement) =>
              settlement._tag === "Ended" && settled.has(settlement.change.message.id)
                ? settlement.change
                : [],
            ),
          ),
        ),
    }),
  ),
)

const layerReminders = Layer.effect(
  ReminderStore,
  Effect.map(ReminderStore, (store) =>
    ReminderStore.of({
      ...store,
      run: (acceptance, run) =>
        Effect.tap(store.run(acceptance, run), ({ _tag }) =>
          _tag === "Accepted" ? countAccepted(acceptance) : Effect.void,
        ),
    }),
  ),
)

const layerDeliveries = Layer.effect(
  DeliveryQueue,
  Effect.map(DeliveryQueue, (queue) =>
    DeliveryQueue.of({
      ...queue,
      settle: (results) => Effect.tap(queue.settle(results), countAttempts(results)),
      settleAndClaim: (results, query) =>
        Effect.tap(queue.settleAndClaim(results, query), countAttempts(results)),
    }),
  ),
)

/** Stands between the core and its store. */
export const layerCountedStores = Layer.mergeAll(
  layerMessages,
  layerLanes,
  layerReminders,
  layerDeliveries,
)
