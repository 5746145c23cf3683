/**
 * Event feed for programs that embed the service. It reads the outbox after each commit, in order,
 * skipping none. The service stores no positions: each listener passes the position to continue
 * after.
 */
import { Cause, Context, Effect, Exit, Latch, Layer } from "effect"
import type { Scope } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import { logFailure } from "../monitoring/logThrottled.ts"
import { WakeUp } from "../queue/DueWork.ts"
import { sleep } from "../time/Time.ts"
import type { OutboxEvent } from "../webhook/WebhookStore.ts"
import { Store } from "../store/Store.ts"

/** Events per read. */
const batch = 100

/**
 * How far behind the latest position a new listener starts: a smaller position may commit after a
 * larger one.
 */
const lookBehind = 1000

/** How often to check for other processes' events, in real milliseconds. */
const pollMillis = 1000

/** Pauses before a failed listener gets an event again; after the last the feed skips it. */
const listenerPauses: ReadonlyArray<number> = [1000, 5000, 30_000, 120_000]

/** Pause before a failed read of the outbox is retried, in real milliseconds. */
const storePauseMillis = 1000

/** Wakes this process's listeners after a commit that may have written events. */
export class EventSignal extends Context.Service<
  EventSignal,
  {
    readonly wake: Effect.Effect<void>
    /** Opens when woken, until the scope closes. */
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
     * A position that precedes all events committed from now on. Exception: an open transaction may
     * commit an event before it, if over a thousand positions were taken meanwhile.
     */
    readonly end: Effect.Effect<number, StoreUnavailable>
    /**
     * Passes on each event after `after`, in order, until interrupted. A failed listener gets the
     * event four more times, after growing pauses of service time; later events wait. Then the feed
     * logs and skips it. `dealtWith` runs after each event.
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
    Effect.gen(function* make() {
      const outbox = (yield* Store).webhooks
      const signal = yield* EventSignal
      const { poll } = yield* WakeUp

      const end = Effect.gen(function* end() {
        let position = Math.max(0, (yield* outbox.latestEvent) - lookBehind)
        for (;;) {
          const events = yield* outbox.readEvents(position, batch)
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

      /** Null when the store does not answer; also for a bug or an interruption from outside. */
      const read = (position: number) =>
        Effect.catchCause(outbox.readEvents(position, batch), (cause) =>
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
