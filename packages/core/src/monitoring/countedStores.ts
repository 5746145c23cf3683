/**
 * The ports through which messages and deliveries change, with a count after each commit: each
 * change is counted here and nowhere else, whichever service makes it. What a store did not write
 * is not counted.
 */
import { Effect, Layer } from "effect"
import type { Context } from "effect"
import { MessageStore } from "../message/MessageStore.ts"
import type { Acceptance } from "../message/MessageStore.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import { LaneQueue } from "../queue/LaneQueue.ts"
import { ReminderStore } from "../reminder/Reminder.ts"
import { countAccepted, countAttempts, countEnded } from "./counters.ts"

/** The port with some of its methods replaced. */
const over = <Port, Shape extends object>(
  port: Context.Service<Port, Shape>,
  replaced: (real: Shape) => Partial<Shape>,
) =>
  Layer.effect(
    port,
    Effect.map(port, (real) => ({ ...real, ...replaced(real) })),
  )

/** Counts what was accepted, if it was. */
const counting =
  (acceptance: Acceptance) =>
  ({ _tag }: { readonly _tag: string }) =>
    _tag === "Accepted" ? countAccepted(acceptance) : Effect.void

/** Stands between the core and its store. */
export const layerCountedStores = Layer.mergeAll(
  over(MessageStore, (store) => ({
    accept: (acceptance) => Effect.tap(store.accept(acceptance), counting(acceptance)),
    insertRefused: (refused) =>
      Effect.tap(store.insertRefused(refused), (change) =>
        change === null ? Effect.void : countEnded([change]),
      ),
    end: (changes) =>
      Effect.tap(store.end(changes), (ended) =>
        countEnded(changes.filter(({ message }) => ended.has(message.id))),
      ),
  })),
  over(LaneQueue, (queue) => ({
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
  })),
  over(ReminderStore, (store) => ({
    run: (acceptance, run) => Effect.tap(store.run(acceptance, run), counting(acceptance)),
  })),
  over(DeliveryQueue, (queue) => ({
    settle: (results) => Effect.tap(queue.settle(results), countAttempts(results)),
    settleAndClaim: (results, query) =>
      Effect.tap(queue.settleAndClaim(results, query), countAttempts(results)),
  })),
)
