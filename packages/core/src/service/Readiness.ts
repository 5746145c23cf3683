/**
 * Collects why a process is not ready, for `/health/ready`, `messaging_not_ready{reason}` and the
 * log. It checks store and disk on each query. Other components raise and clear the remaining
 * reasons.
 */
import { Cause, Clock, Context, Effect, Layer, Latch } from "effect"
import { MediaFiles } from "../model/Media.ts"
import { sleep } from "../model/Time.ts"
import { throttled, rootMessage } from "./logThrottled.ts"
import { refuse, StoreUnavailable } from "../model/Refusal.ts"
import type { Refusal } from "../model/Refusal.ts"
import { Store } from "../store/Store.ts"

/** Every reason, as metrics label it. */
export const notReadyReasons = [
  "store",
  "disk",
  // The system clock is too far from the database's.
  "clock",
  // The store is behind what this process has seen of it.
  "store_behind",
] as const

export type NotReadyReason = (typeof notReadyReasons)[number]

/** Reasons that are checked; the others are raised. */
type AskedReason = "store" | "disk"

/** Current reasons, each with its log text. Empty: ready. */
export type NotReady = ReadonlyMap<NotReadyReason, string>

/** Time limit of a check, in real time. */
const longestWait = 2

/** A store that has answered before may be slow: so many more time limits tell slow from away. */
const slowWaits = 2

/** What a check found. */
interface Answer {
  /** Null when all is well. */
  readonly trouble: { readonly reason: AskedReason; readonly because: string } | null
  /** It came later than the time limit. */
  readonly isSlow: boolean
}

/** Asks, and waits beyond the time limit so many times more. */
const awaitAnswer = (reason: AskedReason, work: Effect.Effect<void, unknown>, moreWaits: number) =>
  Effect.suspend(() => {
    let waits = 0
    const limit = Effect.tap(sleep(`${longestWait} seconds`), () => Effect.sync(() => waits++))
    const late = (): Answer["trouble"] => ({
      reason,
      because: `no answer within ${longestWait * waits} seconds`,
    })
    return Effect.raceFirst(
      work.pipe(
        Effect.as(null),
        Effect.catchCause((cause) => Effect.succeed(getTrouble(reason, Cause.squash(cause)))),
      ),
      Effect.map(Effect.repeat(limit, { times: moreWaits }), late),
    ).pipe(Effect.map((trouble): Answer => ({ trouble, isSlow: trouble === null && waits > 0 })))
  })

const getTrouble = (reason: AskedReason, error: unknown): NonNullable<Answer["trouble"]> => ({
  reason: error instanceof StoreUnavailable && error.isDiskFull === true ? "disk" : reason,
  because: rootMessage(error),
})

const describe = (reasons: NotReady): string =>
  Array.from(reasons, ([reason, because]) => `${reason} (${because})`).join(", ")

export class Readiness extends Context.Service<
  Readiness,
  {
    /** The current reasons. A change since the last query logs one line. */
    readonly notReady: Effect.Effect<NotReady>
    /** Whether the store was slow at the last query: it answered, but later than two seconds. */
    readonly isStoreSlow: Effect.Effect<boolean>
    /** Raises a reason, or clears it with null. */
    raise(reason: Exclude<NotReadyReason, AskedReason>, because: string | null): Effect.Effect<void>
  }
>()("core/Readiness") {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* make() {
      const { ping } = (yield* Store).system
      const files = yield* MediaFiles
      const raised = new Map<NotReadyReason, string>()
      /** The names of the reasons at the last query. */
      let before = ""
      /** Whether the log says that the process is not ready. */
      let isSaid = false
      let hasAnswered = false
      let isSlow = false

      const log = Effect.fnUntraced(function* log(reasons: NotReady) {
        const names = [...reasons.keys()].join(", ")
        if (names === before) return
        before = names
        if (names !== "") {
          return yield* throttled(`not ready: ${names}`, () => {
            isSaid = true
            return Effect.logWarning(`not ready: ${describe(reasons)}`)
          })
        }
        if (!isSaid) return
        isSaid = false
        yield* Effect.logInfo("ready again")
      })

      const notReady = Effect.gen(function* notReady() {
        const [store, disk] = yield* Effect.all(
          [
            awaitAnswer("store", ping, hasAnswered ? slowWaits : 0),
            awaitAnswer("disk", files.ready, 0),
          ],
          { concurrency: "unbounded" },
        )
        hasAnswered ||= store.trouble === null
        isSlow = store.isSlow
        const reasons = new Map(raised)
        for (const { trouble } of [store, disk]) {
          if (trouble !== null) reasons.set(trouble.reason, trouble.because)
        }
        yield* log(reasons)
        return reasons
      })

      return Readiness.of({
        notReady,
        isStoreSlow: Effect.sync(() => isSlow),
        raise: Effect.fnUntraced(function* raise(reason, because) {
          if (because === null) raised.delete(reason)
          else raised.set(reason, because)
          // Logged now, since the next query may come late.
          yield* notReady
        }),
      })
    }),
  )
}

// Whether this process may work. Without a trustworthy clock and store it must neither claim nor
// accept. The component that finds a cause closes the gate under the cause's name, and reopens it
// later. Loops, HTTP and acceptance share this gate.

/** Reasons of `Readiness` that close the gate. */
export type GateCause = Extract<NotReadyReason, "clock" | "store_behind">

/** Seconds. */
const retryAfterSeconds = 5

export class WorkGate extends Context.Service<
  WorkGate,
  {
    /** Closes the gate. `because` goes to the log: no message text, no phone. */
    close(cause: GateCause, because: string): Effect.Effect<void>
    /** Removes this cause, if present. */
    open(cause: GateCause): Effect.Effect<void>
    /** Each cause with its reason; empty while open. */
    causes(): ReadonlyMap<GateCause, string>
    /** Fails with `service_unavailable` while the gate is closed. */
    readonly pass: Effect.Effect<void, Refusal<"service_unavailable">>
    /**
     * Runs the work whenever the gate is open. Closing interrupts it; running attempts may finish,
     * as when the process stops.
     */
    whileOpen<R>(work: Effect.Effect<never, never, R>): Effect.Effect<never, never, R>
  }
>()("core/WorkGate") {
  /** Initially open. While it is closed the process is not ready. */
  static readonly layer = Layer.effect(
    WorkGate,
    Effect.map(Readiness, (readiness) => makeWorkGate(readiness)),
  )
}

const makeWorkGate = ({ raise }: typeof Readiness.Service): typeof WorkGate.Service => {
  const causes = new Map<GateCause, string>()
  const whenOpen = Latch.makeUnsafe(true)
  const whenClosed = Latch.makeUnsafe(false)
  const closed = refuse("service_unavailable", {
    message:
      "The service cannot work safely at the moment. Retry after the seconds of `Retry-After`.",
    retryAfter: retryAfterSeconds,
  })
  return {
    close: (cause, because) =>
      Effect.suspend(() => {
        causes.set(cause, because)
        whenOpen.closeUnsafe()
        whenClosed.openUnsafe()
        return raise(cause, because)
      }),
    open: (cause) =>
      Effect.suspend(() => {
        if (!causes.delete(cause)) return Effect.void
        if (causes.size === 0) {
          whenClosed.closeUnsafe()
          whenOpen.openUnsafe()
        }
        return raise(cause, null)
        // A cause that is gone but still raised would leave the process unready.
      }).pipe(Effect.uninterruptible),
    causes: () => causes,
    // Reading the time closes the gate where the clock has leapt.
    pass: Effect.flatMap(Clock.currentTimeMillis, () =>
      causes.size === 0 ? Effect.void : Effect.fail(closed),
    ),
    whileOpen: (work) =>
      Effect.forever(
        Effect.andThen(whenOpen.await, Effect.raceFirst(work, Effect.asVoid(whenClosed.await))),
      ),
  }
}
