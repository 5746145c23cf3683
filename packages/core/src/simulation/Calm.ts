/** Whether the service is calm: nothing due and nothing in flight (operator API: settle). */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus, kindsOfWork } from "../queue/WorkStatus.ts"
import { sleep } from "../time/RealTime.ts"
import { deliveryLeaseMillis } from "../worker/CallLoop.ts"
import { ParkedSends } from "./ParkedSends.ts"

/** How often to look again, in real time. */
const pollMillis = 5

/**
 * How long an attempt that this process does not see waiting may stay in flight before it is taken
 * to be another process's wait on the clock, in real time.
 */
const patienceMillis = 2000

/**
 * Looks in a row that must find nothing: what goes back to its lane between two questions of one
 * look, in hands at the first and due at the second, is found by the next.
 */
const looks = 3

/** A call of a receiver takes no longer, and is recorded by then, unless its worker has died. */
const longestCallMillis = 16_000

export class Calm extends Context.Service<
  Calm,
  {
    /** Returns once nothing is due and nothing is in flight. */
    readonly settled: Effect.Effect<void, StoreUnavailable>
    /**
     * Returns once nothing will happen before time moves on: nothing is due, and what is in flight
     * waits for the clock itself.
     */
    readonly stalled: Effect.Effect<void, StoreUnavailable>
    /** The next moment at which something falls due, null when nothing waits. */
    readonly nextDue: Effect.Effect<number | null, StoreUnavailable>
  }
>()("core/Calm") {
  static readonly layer = Layer.effect(
    Calm,
    Effect.gen(function* () {
      const status = yield* WorkStatus
      const wakeUp = yield* WakeUp
      const parked = yield* ParkedSends

      const nextDue = Effect.gen(function* () {
        const moments = yield* Effect.forEach(kindsOfWork, status.nextDue)
        const known = moments.filter((moment) => moment !== null)
        return known.length === 0 ? null : Math.min(...known)
      })

      const somethingDue = Effect.gen(function* () {
        const due = yield* nextDue
        return due !== null && due <= (yield* Clock.currentTimeMillis)
      })

      /** Numbers with something in the hands of a transport. */
      const inHands = Effect.gen(function* () {
        const sending = yield* status.inFlight(yield* Clock.currentTimeMillis)
        return [...sending, ...(yield* status.checking)]
      })

      /** Whether an endpoint or a callback's target is being called: a call does not wait for the clock. */
      const calling = Effect.gen(function* () {
        const until = yield* status.deliveringUntil
        if (until === null) return false
        const since = until - deliveryLeaseMillis
        return (yield* Clock.currentTimeMillis) < since + longestCallMillis
      })

      /** Makes the loops look now, wherever they sleep. */
      const nudge = Effect.forEach(kindsOfWork, wakeUp.wake, { discard: true })

      const settled: Effect.Effect<void, StoreUnavailable> = Effect.gen(function* () {
        for (let quiet = 0; quiet < looks;) {
          const busy = (yield* somethingDue) || (yield* inHands).length > 0 || (yield* calling)
          quiet = busy ? 0 : quiet + 1
          if (!busy) continue
          yield* nudge
          yield* sleep(pollMillis)
        }
      })

      const stalled: Effect.Effect<void, StoreUnavailable> = Effect.gen(function* () {
        let patient = true
        const outOfPatience = Effect.sync(() => {
          patient = false
        })
        // Looks are not counted for it: those at a busy store take their time.
        yield* Effect.forkScoped(Effect.andThen(sleep(patienceMillis), outOfPatience))
        for (;;) {
          // Whoever was woken by time moving on gets its turn before it is judged to be waiting.
          yield* sleep(pollMillis)
          const due = yield* somethingDue
          const numbers = yield* inHands
          const waiting = yield* parked.parked
          const allWait = !patient || numbers.every((number) => waiting.has(number))
          // Time stands still until a call has ended.
          if (!due && allWait && !(yield* calling)) return
          if (due) yield* nudge
        }
      }).pipe(Effect.scoped)

      return Calm.of({ settled, stalled, nextDue })
    }),
  )
}
