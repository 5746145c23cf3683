/**
 * Whether this process may work. Where it cannot trust its clock or its store, it must neither claim nor
 * accept. The part of the service that finds such a cause closes the gate under the cause's name, and opens
 * it once the cause is gone; the gate is open while it has no cause. The worker's loops, the HTTP interface
 * and the acceptance of messages all ask this one gate.
 */
import { Context, Effect, Latch, Layer } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import { Readiness } from "../monitoring/Readiness.ts"
import type { NotReadyReason } from "../monitoring/Readiness.ts"

/** The reasons of `Readiness` for which a process must not work. */
export type GateCause = Extract<NotReadyReason, "clock" | "store_behind">

/** Seconds after which a refused request may be worth repeating. */
const retryAfterSeconds = 5

export class WorkGate extends Context.Service<
  WorkGate,
  {
    /** Closes the gate for this cause. `because` is for the log, so it holds no text and no phone. */
    close(cause: GateCause, because: string): Effect.Effect<void>
    /** Takes this cause away; nothing happens where there is none. */
    open(cause: GateCause): Effect.Effect<void>
    /** The causes for which the gate is closed, each with why; none while it is open. */
    causes(): ReadonlyMap<GateCause, string>
    /** Fails with `service_unavailable` while the gate is closed. */
    readonly pass: Effect.Effect<void, Refusal>
    /**
     * Runs the work while the gate is open, and again each time that it opens. When it closes the work is
     * interrupted, and may end what is under way, as when the process stops.
     */
    whileOpen<R>(work: Effect.Effect<never, never, R>): Effect.Effect<never, never, R>
  }
>()("core/WorkGate") {
  /** Open at first. While it is closed the process is not ready either. */
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
      }),
    causes: () => causes,
    pass: Effect.suspend(() => (causes.size === 0 ? Effect.void : Effect.fail(closed))),
    whileOpen: (work) =>
      Effect.forever(
        Effect.andThen(whenOpen.await, Effect.raceFirst(work, Effect.asVoid(whenClosed.await))),
      ),
  }
}
