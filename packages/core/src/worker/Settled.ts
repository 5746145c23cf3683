/** Waiting until the service has nothing more to do at this moment. */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus, kindsOfWork, sharedWork } from "../queue/WorkStatus.ts"
import type { AttemptInHands } from "../queue/WorkStatus.ts"
import { sleep } from "../time/RealTime.ts"
import { deliveryLeaseMillis } from "./Deliverer.ts"

/** Between two looks, in real time: longer each time, since each asks the store and may wake all loops. */
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

/** A call of a receiver takes no longer, and is recorded by then, unless its worker has died. */
const longestCallMillis = 16_000

/** What a look at the whole store's work found. */
export interface WorkSeen {
  readonly inHands: ReadonlyArray<AttemptInHands>
  /** Null when nothing waits. */
  readonly nextDue: number | null
  readonly isDue: boolean
  /** A receiver is being called. */
  readonly isCalling: boolean
}

export class Settled extends Context.Service<
  Settled,
  {
    readonly look: Effect.Effect<WorkSeen, StoreUnavailable>
    /** The pause between two looks, for those who look until something is so; longer each time. */
    pauses(): Effect.Effect<void>
    /** Makes the loops look now, wherever they sleep. */
    readonly wakeAll: Effect.Effect<void>
    /**
     * Returns once nothing is due and nothing is in flight, with the moment at which something falls
     * due next; null when nothing waits. A worker must run.
     */
    readonly settled: Effect.Effect<number | null, StoreUnavailable>
  }
>()("core/Settled") {
  static readonly layer = Layer.effect(
    Settled,
    Effect.gen(function* () {
      const status = yield* WorkStatus
      const wakeUp = yield* WakeUp

      const look = Effect.gen(function* () {
        const load = yield* status.workload(yield* Clock.currentTimeMillis, sharedWork)
        // Read after the store's answer, so that work put off to the moment of its commit is due.
        const now = yield* Clock.currentTimeMillis
        const { deliveringUntil, inHands, nextDue } = load
        return {
          inHands,
          nextDue,
          isDue: nextDue !== null && nextDue <= now,
          // A call does not wait for the clock.
          isCalling:
            deliveringUntil !== null &&
            now < deliveringUntil - deliveryLeaseMillis + longestCallMillis,
        }
      })

      const wakeAll = Effect.forEach(kindsOfWork, wakeUp.wake, { discard: true })

      const settled = Effect.gen(function* () {
        const pause = pauses()
        for (;;) {
          const { inHands, isCalling, isDue, nextDue } = yield* look
          if (!isDue && !isCalling && inHands.length === 0) return nextDue
          if (isDue) yield* wakeAll
          yield* pause
        }
      })

      return Settled.of({ look, pauses, wakeAll, settled })
    }),
  )
}
