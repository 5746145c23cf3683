/**
 * Events for a program that runs the service. Read from the outbox: after the commit, in order, none
 * skipped. The service does not remember what a listener was told: a listener goes on after the position
 * that it names.
 */
import { Cause, Context, Effect, Exit, Latch, Layer } from "effect"
import type { Scope } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { EventId } from "../Ids.ts"
import type { MessageEvent } from "../message/Message.ts"
import { logFailure } from "../monitoring/logThrottled.ts"
import { WakeUp } from "../queue/DueWork.ts"
import { sleep } from "../time/Time.ts"

// The port through which the outbox is read; it is written only inside other commits.

/** How long events, and the log of their deliveries, can be looked at and delivered again. */
export const eventsKeptMillis = 30 * 24 * 60 * 60 * 1000

export interface OutboxEvent extends Omit<MessageEvent, "id"> {
  /** Position in the outbox, growing. */
  readonly id: number
  readonly eventId: EventId
}

export class Outbox extends Context.Service<
  Outbox,
  {
    /** Events after a position, oldest first. */
    read(after: number, limit: number): Effect.Effect<ReadonlyArray<OutboxEvent>, StoreUnavailable>
    /** The largest position that is taken as yet; 0 before the first. */
    readonly latest: Effect.Effect<number, StoreUnavailable>
    /**
     * Drops events made before `before`, unless they or older ones are still to be delivered; the
     * latest of them may be left for the next time.
     */
    forget(before: number): Effect.Effect<void, StoreUnavailable>
  }
>()("core/Outbox") {}

/** Events of one read. */
const batch = 100

/**
 * How far behind the latest position a new listener begins to look: an event with a smaller position
 * may be committed after one with a larger.
 */
const lookBehind = 1000

/** How often to look for events that other processes have written, in real milliseconds. */
const pollMillis = 1000

/** The pauses before an event is told again to a listener that failed; then it is passed over. */
const listenerPauses: ReadonlyArray<number> = [1000, 5000, 30_000, 120_000]

/** Before the outbox is asked again that did not answer, in real milliseconds. */
const storePauseMillis = 1000

/** Wakes the listeners of this process after a commit that may have written events. */
export class EventSignal extends Context.Service<
  EventSignal,
  {
    readonly wake: Effect.Effect<void>
    /** Open once it was woken, as long as the scope is open. */
    readonly latch: Effect.Effect<Latch.Latch, never, Scope.Scope>
  }
>()("core/EventSignal") {
  static readonly layer = Layer.sync(EventSignal, () => {
    const latches = new Set<Latch.Latch>()
    return {
      wake: Effect.suspend(() => Effect.forEach(latches, Latch.open, { discard: true })),
      latch: Effect.acquireRelease(
        Effect.map(Latch.make(true), (latch) => {
          latches.add(latch)
          return latch
        }),
        (latch) => Effect.sync(() => latches.delete(latch)),
      ),
    }
  })
}

export class EventFeed extends Context.Service<
  EventFeed,
  {
    /**
     * A position after which all events come that are committed from now on. One exception: where more
     * than a thousand positions were taken while a transaction was open, an event of that transaction
     * may come before it.
     */
    readonly end: Effect.Effect<number, StoreUnavailable>
    /**
     * Tells every event behind `after`, one after the other, until it is interrupted. An event is told
     * again when the listener fails, four times after growing pauses of service time, and then passed
     * over with a line in the log: what comes behind it waits for that long. `dealtWith` runs after
     * each event that was told or passed over.
     */
    follow(
      after: number,
      listener: (event: OutboxEvent) => Effect.Effect<void, unknown>,
      dealtWith?: (event: OutboxEvent) => void,
    ): Effect.Effect<never>
  }
>()("core/EventFeed") {
  static readonly layer = Layer.effect(
    EventFeed,
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const signal = yield* EventSignal
      const { poll } = yield* WakeUp

      const end = Effect.gen(function* end() {
        let position = Math.max(0, (yield* outbox.latest) - lookBehind)
        for (;;) {
          const events = yield* outbox.read(position, batch)
          const last = events.at(-1)
          if (last === undefined) return position
          position = last.id
        }
      })

      const tell = Effect.fnUntraced(
        function* tell(
          event: OutboxEvent,
          listener: (event: OutboxEvent) => Effect.Effect<void, unknown>,
        ) {
          for (const pause of [...listenerPauses, null]) {
            const told = yield* Effect.exit(listener(event))
            if (Exit.isSuccess(told)) return
            if (Cause.hasInterruptsOnly(told.cause)) return yield* Effect.interrupt
            if (pause === null) {
              yield* Effect.logError(
                "a listener failed too often; the event is passed over",
                told.cause,
              )
              return
            }
            yield* Effect.logWarning("a listener failed; it gets the event again", told.cause)
            yield* Effect.sleep(pause)
          }
        },
        (effect, event) =>
          Effect.annotateLogs(effect, { event: event.eventId, position: event.id }),
      )

      /**
       * Null where the store does not answer, also where that is a bug or the question was cut off from
       * outside.
       */
      const read = (position: number) =>
        Effect.catchCause(outbox.read(position, batch), (cause) =>
          Effect.as(logFailure("events are read later", cause), null),
        )

      const follow = (
        after: number,
        listener: (event: OutboxEvent) => Effect.Effect<void, unknown>,
        dealtWith: (event: OutboxEvent) => void = () => undefined,
      ): Effect.Effect<never> =>
        Effect.scoped(
          Effect.gen(function* () {
            const latch = yield* signal.latch
            let position = after
            const woken =
              poll === null ? latch.await : Effect.raceFirst(latch.await, sleep(pollMillis))
            const round = Effect.gen(function* round() {
              yield* latch.close
              const events = yield* read(position)
              if (events === null) return yield* sleep(storePauseMillis)
              if (events.length === 0) return yield* woken
              for (const event of events) {
                yield* tell(event, listener)
                position = event.id
                dealtWith(event)
              }
            })
            return yield* Effect.forever(round)
          }),
        )

      return EventFeed.of({ end, follow })
    }),
  )
}
