/**
 * The ports through which messages and deliveries change, with a count after each commit: each
 * change is counted here and nowhere else, whichever service makes it. What a store did not write
 * is not counted. Listeners of this process are woken here too, for the events of ended messages.
 */
import { Effect, Layer } from "effect"
import type { Context } from "effect"
import { EventSignal } from "../event/EventFeed.ts"
import type { MessageChange } from "../message/MessageChange.ts"
import { MessageStore } from "../message/MessageStore.ts"
import type { Acceptance } from "../message/MessageStore.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import { LaneQueue } from "../queue/LaneQueue.ts"
import { ReminderStore } from "../reminder/Reminder.ts"
import { countAccepted, countAttempts, countEnded } from "./counters.ts"

/** The port with some of its methods replaced; they may tell that messages have ended. */
const over = <Port, Shape extends object>(
  port: Context.Service<Port, Shape>,
  replaced: (
    real: Shape,
    ended: (changes: ReadonlyArray<MessageChange>) => Effect.Effect<void>,
  ) => Partial<Shape>,
) =>
  Layer.effect(
    port,
    Effect.gen(function* () {
      const real = yield* port
      const { wake } = yield* EventSignal
      const ended = (changes: ReadonlyArray<MessageChange>) =>
        changes.length === 0 ? Effect.void : Effect.andThen(countEnded(changes), wake)
      return { ...real, ...replaced(real, ended) }
    }),
  )

/** Counts what was accepted, if it was. */
const counting =
  (acceptance: Acceptance) =>
  ({ _tag }: { readonly _tag: string }) =>
    _tag === "Accepted" ? countAccepted(acceptance) : Effect.void

/** Stands between the core and its store. */
export const layerCountedStores = Layer.mergeAll(
  over(MessageStore, (store, ended) => ({
    accept: (acceptance) => Effect.tap(store.accept(acceptance), counting(acceptance)),
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
