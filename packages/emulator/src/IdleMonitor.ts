/** Waiting until the service is idle (`settle`, `clock/advance`; contract: Emulator controls). */
import { Housekeeping, IdleMonitor, sleepInRealTime as sleep } from "@messaging-service/core"
import type { NumberId, StoreUnavailable } from "@messaging-service/core"
import { Clock, Context, Effect, FiberHandle, Layer, Scheduler } from "effect"

// Whether anything is runnable in this process: the scheduler knows, so no caller has to guess.

/**
 * Returns once nothing is runnable in this process before a timer, a socket or a caller wakes it. Null where
 * that is not enough: a store behind a socket may owe an answer while nothing is runnable.
 */
export const LocalRest = Context.Reference<Effect.Effect<void> | null>("emulator/LocalRest", {
  defaultValue: () => null,
})

/** A scheduler like Effect's own that counts its pending tasks, and the tasks already running. */
export const makeCountingScheduler = () => {
  let scheduled = 0
  const scheduler = new Scheduler.MixedScheduler("async", (run) => {
    scheduled++
    const immediate = setImmediate(() => {
      scheduled--
      run()
    })
    return () => {
      scheduled--
      clearImmediate(immediate)
    }
  })
  const rest = Effect.callback<void>((resume) => {
    const check = () => {
      if (scheduled === 0) resume(Effect.void)
      else setImmediate(check)
    }
    // Promises that have settled continue before this turn.
    setImmediate(check)
  })
  return { scheduler, rest }
}

/**
 * How long the same attempts, which this process does not see waiting, may stay in flight before
 * they are taken to be another process's wait on the clock, in real time.
 */
const waitMillis = 2000

/**
 * Where the scheduler knows that nothing is runnable, so many looks in a row are taken without a pause. What
 * is still busy then waits for something outside: a receiver, a file, another process.
 */
const looksWithoutPause = 3

/**
 * Which attempts wait only for the service's clock. Under an adjustable clock a latency, or a phone that
 * never answers, ends only when time is moved on: the emulator has to know that waiting for such an attempt
 * is pointless.
 */
export class ParkedSends extends Context.Service<
  ParkedSends,
  {
    /**
     * The numbers of this process with an attempt that waits until service time reaches a future moment, or forever.
     */
    readonly parked: Effect.Effect<ReadonlySet<NumberId>>
  }
>()("emulator/ParkedSends") {}

interface Waiting {
  readonly numberId: NumberId
  /** The moment until which nothing happens by itself. */
  readonly until: number
}

export const makeClockWaits = () => {
  const waits = new Set<Waiting>()

  const enter = (numberId: NumberId, millis: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const wait: Waiting = { numberId, until: now + millis }
      waits.add(wait)
      return wait
    })

  return {
    /** Lets the number's attempt wait; `Infinity` for no end. */
    wait: (numberId: NumberId, millis: number): Effect.Effect<void> =>
      millis <= 0
        ? Effect.void
        : Effect.acquireUseRelease(
            enter(numberId, millis),
            () => (Number.isFinite(millis) ? Effect.sleep(millis) : Effect.never),
            (wait) => Effect.sync(() => waits.delete(wait)),
          ),
    /** An attempt that is due needs no more time, even if its fiber has not run yet. */
    parked: Effect.map(
      Clock.currentTimeMillis,
      (now) =>
        new Set(
          Array.from(waits)
            .filter(({ until }) => until > now)
            .map(({ numberId }) => numberId),
        ),
    ),
  }
}

export class Idle extends Context.Service<
  Idle,
  {
    /** Returns once nothing is due and nothing is in flight. */
    readonly settled: Effect.Effect<void, StoreUnavailable>
    /**
     * Returns once nothing will happen before time moves on: nothing is due, and work in flight waits for the
     * clock itself. Returns the next due moment, null when nothing waits.
     */
    readonly stalled: Effect.Effect<number | null, StoreUnavailable>
  }
>()("emulator/Idle") {
  static readonly layer = Layer.effect(
    Idle,
    Effect.gen(function* () {
      const { check, pauses, settled, wakeAll } = yield* IdleMonitor
      const parked = yield* ParkedSends
      const housekeeping = yield* Housekeeping
      const localRest = yield* LocalRest

      const stalled: Effect.Effect<number | null, StoreUnavailable> = Effect.gen(
        function* stalled() {
          let mayChange = true
          let lastSeen = ""
          const pause = pauses()
          let checks = 0
          const untilNextCheck =
            localRest === null
              ? pause
              : Effect.suspend(() =>
                  checks++ < looksWithoutPause ? localRest : Effect.andThen(pause, localRest),
                )
          const waitTimer = yield* FiberHandle.make()
          const waitedEnough = Effect.sync(() => {
            mayChange = false
          })
          for (;;) {
            // A fiber that moving time woke runs before it can count as waiting.
            yield* untilNextCheck
            // Before the poll: what waits for the clock then still does when the store is asked.
            const waiting = yield* parked.parked
            const { inFlight, isCalling, isDue, nextDue } = yield* check
            const lastText = inFlight.map(({ attempt }) => attempt).join()
            if (lastText !== lastSeen) {
              lastSeen = lastText
              mayChange = true
              // Polls are not counted for it: those of a busy store take their time.
              yield* FiberHandle.run(waitTimer, Effect.andThen(sleep(waitMillis), waitedEnough))
            }
            const allWait = !mayChange || inFlight.every(({ numberId }) => waiting.has(numberId))
            // Time does not move until a call or a round of housekeeping has ended.
            if (!isDue && allWait && !isCalling && !housekeeping.isUnderWay) return nextDue
            if (isDue) yield* wakeAll
          }
        },
      ).pipe(Effect.scoped)

      return Idle.of({ settled: Effect.asVoid(settled), stalled })
    }),
  )
}
