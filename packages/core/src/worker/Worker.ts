/**
 * The worker: all its loops, the gate that stops them, and the reports of transports (ticks and
 * connection changes), for the worker app, the server that runs it inline, and embedders.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import { logFailure } from "../service/logThrottled.ts"
import { makeFigureCounter } from "../service/WorkspaceFigures.ts"
import { makeTick, tickOnceSent } from "../service/makeTick.ts"
import { Numbers } from "../service/Numbers.ts"
import { makeRestrictionsChanged } from "../service/NumberRestrictions.ts"
import { kindsOfWork, sharedWork, WakeUp } from "../store/DueWork.ts"
import type { AttemptInFlight } from "../store/DueWork.ts"
import { onWorkClock } from "../service/ClockSkew.ts"
import { sleep } from "../model/Time.ts"
import { NumberOwnership } from "../service/NumberOwnership.ts"
import { TelegramTransport, WhatsAppTransport } from "../store/Transport.ts"
import type { TakeEvent, TransportEvent } from "../store/Transport.ts"
import { makeCampaignRunner } from "./CampaignRunner.ts"
import { deliveryLeaseMillis, makeDeliverer } from "./Deliverer.ts"
import {
  makeCopyWaits,
  makeDispatcher,
  makeExpirer,
  makePauseReporter,
  makeTestModeSender,
} from "./Dispatcher.ts"
import { makeHousekeeper } from "./Housekeeper.ts"
import { sharedStore } from "./LeaseLoop.ts"
import { makeConnectionReporter, makeLinker } from "./Linker.ts"
import { makeMediaFetcher } from "./MediaFetcher.ts"
import { makeNumberChecker } from "./NumberChecker.ts"
import { makeReadMarker } from "./ReadMarker.ts"
import { makeReminderRunner } from "./ReminderRunner.ts"
import { WorkGate } from "../service/Readiness.ts"
import { Store } from "../store/Store.ts"

/** Pause before a write is retried, in real time. */
const storedAgainMillis = 250

/** Retries until the store answers. */
const stored = <A>(work: Effect.Effect<A, StoreUnavailable>): Effect.Effect<A> =>
  work.pipe(
    Effect.catch((error) =>
      Effect.andThen(
        logFailure("what a transport reports is stored again", error),
        Effect.eventually(Effect.andThen(sleep(storedAgainMillis), work)),
      ),
    ),
  )

const takeTransportEvents = Effect.gen(function* takeTransportEvents() {
  const applyTick = yield* makeTick
  const numbers = yield* Numbers
  const restrictionsChanged = yield* makeRestrictionsChanged

  const tick = (event: Extract<TransportEvent, { readonly _tag: "Tick" }>) => {
    const tried = stored(applyTick(event.numberId, event.transportId, event.status))
    return Effect.flatMap(tried, (message) => tickOnceSent(message, tried))
  }

  const apply = (event: TransportEvent): Effect.Effect<unknown> => {
    switch (event._tag) {
      case "Tick":
        return tick(event)
      case "ConnectionChanged":
        return stored(
          numbers.connectionChanged(event.numberId, event.status, event.phone, event.reason),
        )
      case "RestrictionsChanged":
        return stored(restrictionsChanged(event.numberId, event.restrictions))
    }
  }

  const take: TakeEvent = (event) =>
    apply(event).pipe(
      Effect.catchCause((cause) => Effect.logError("an event of a transport was lost", cause)),
      Effect.asVoid,
    )

  const transports = [yield* WhatsAppTransport, yield* TelegramTransport]
  return Effect.forEach(transports, ({ listen }) => listen(take), {
    concurrency: "unbounded",
    discard: true,
  })
})

export class Worker extends Context.Service<
  Worker,
  {
    /**
     * Runs every loop until interrupted; attempts under way may then finish, for `StopMillis` at
     * most. A closed gate stops the loops the same way, so that other workers take its numbers.
     */
    readonly run: Effect.Effect<never>
  }
>()("core/Worker") {
  static readonly layer = Layer.effect(
    Worker,
    Effect.gen(function* make() {
      const gate = yield* WorkGate
      const loops = [
        (yield* makeDispatcher).run,
        (yield* makeDeliverer).run,
        (yield* makeExpirer).run,
        (yield* makeLinker).run,
        (yield* makeTestModeSender).run,
        (yield* makePauseReporter).run,
        (yield* makeCopyWaits).run,
        (yield* makeReminderRunner).run,
        (yield* makeCampaignRunner).run,
        (yield* makeHousekeeper).run,
        (yield* makeFigureCounter).run,
        (yield* makeNumberChecker).run,
        (yield* makeReadMarker).run,
        (yield* makeMediaFetcher).run,
        yield* takeTransportEvents,
        (yield* NumberOwnership).run,
        (yield* makeConnectionReporter).run,
      ]
      return Worker.of({
        run: gate.whileOpen(
          onWorkClock(
            Effect.andThen(
              Effect.all(loops, { concurrency: "unbounded", discard: true }),
              Effect.never,
            ),
          ),
        ),
      })
      // Loops keep the context that they were made in.
    }).pipe(Effect.provideServiceEffect(Store, sharedStore), onWorkClock),
  )

  /** Runs the worker until the layer closes. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Worker, (worker) => Effect.forkScoped(worker.run)),
  )
}

// Waiting until the service is idle.

/**
 * Pauses between looks, in real time, growing: each look queries the store and may wake all loops.
 */
const shortestPauseMillis = 5
const longestPauseMillis = 40
const growth = 1.25

const pauses = (): Effect.Effect<void> => {
  let next = shortestPauseMillis
  return Effect.suspend(() => {
    const pause = next
    next = Math.min(pause * growth, longestPauseMillis)
    return sleep(pause)
  })
}

/** No receiver call takes longer, recording included, unless its worker died. */
const longestCallMillis = 16_000

/** One look at the whole store's work. */
interface WorkSeen {
  readonly inFlight: ReadonlyArray<AttemptInFlight>
  /** Null when nothing waits. */
  readonly nextDue: number | null
  readonly isDue: boolean
  readonly isCalling: boolean
}

export class IdleMonitor extends Context.Service<
  IdleMonitor,
  {
    readonly check: Effect.Effect<WorkSeen, StoreUnavailable>
    /** The growing pause between two looks of a polling caller. */
    pauses(): Effect.Effect<void>
    /** Wakes every loop. */
    readonly wakeAll: Effect.Effect<void>
    /**
     * Returns once nothing is due or in flight, with the next due moment; null when nothing waits.
     * Needs a running worker.
     */
    readonly settled: Effect.Effect<number | null, StoreUnavailable>
  }
>()("core/IdleMonitor") {
  static readonly layer = Layer.effect(
    IdleMonitor,
    Effect.gen(function* make() {
      const status = (yield* Store).queue
      const wakeUp = yield* WakeUp

      const check = Effect.gen(function* check() {
        const load = yield* status.workload(yield* Clock.currentTimeMillis, sharedWork)
        // Read after the store's answer, so that work postponed to its commit's moment counts as
        // due.
        const now = yield* Clock.currentTimeMillis
        const { deliveringUntil, inFlight, nextDue } = load
        return {
          inFlight,
          nextDue,
          isDue: nextDue !== null && nextDue <= now,
          // Receiver calls do not follow service time.
          isCalling:
            deliveringUntil !== null &&
            now < deliveringUntil - deliveryLeaseMillis + longestCallMillis,
        }
      })

      const wakeAll = Effect.forEach(kindsOfWork, wakeUp.wake, { discard: true })

      const settled = Effect.gen(function* settled() {
        const pause = pauses()
        for (;;) {
          const { inFlight, isCalling, isDue, nextDue } = yield* check
          if (!isDue && !isCalling && inFlight.length === 0) return nextDue
          if (isDue) yield* wakeAll
          yield* pause
        }
      })

      return IdleMonitor.of({ check, pauses, wakeAll, settled })
    }),
  )
}
