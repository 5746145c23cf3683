/**
 * A transport's reads and writes of its numbers' sessions. They retry until the store answers:
 * connections to the remote must not end, or run without their data, because the store was away.
 */
import { Cause, Effect, Latch } from "effect"
import { StoreUnavailable } from "../model/Refusal.ts"
import { sleep } from "../model/Time.ts"
import { rootMessage, throttled } from "./logThrottled.ts"
import { NumberMoved } from "./NumberOwnership.ts"

/** Between two tries, in real milliseconds. */
const againMillis = 250

const hasMoved = (error: unknown): error is NumberMoved => error instanceof NumberMoved

/**
 * Retries until the store answers. `NumberMoved` and `CannotOpen` are answers: retrying would not
 * change them.
 */
export const retryUntilStoreAnswers = <A, E>(
  work: Effect.Effect<A, E>,
): Effect.Effect<A, Exclude<E, StoreUnavailable>> => {
  const isAnswer = (error: E): error is Exclude<E, StoreUnavailable> =>
    !(error instanceof StoreUnavailable)
  return Effect.retry(
    Effect.tapError(work, (error) => (isAnswer(error) ? Effect.void : sleep(againMillis))),
    { until: isAnswer },
  )
}

/** A library's reads and writes of its number while this process keeps its connection. */
export interface SessionAccess {
  /** Retries until the store answers, while the number is held. */
  read<A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E>
  /**
   * As `read`, for a write. Nothing may leave before its write: when another worker owns the
   * number, the write never returns, so the library cannot continue. It retries while the number is
   * held, since ownership may be in doubt only briefly, as after a clock change.
   */
  write<E>(work: Effect.Effect<void, E>): Effect.Effect<void>
  /**
   * As `write`, for what the remote forgets once the library continues: it returns after the commit
   * only, also after a defect. A write that `letGo` prevents never returns.
   */
  commit<E>(work: Effect.Effect<void, E>): Effect.Effect<void>
  /**
   * Before each message that the remote told is handled, one after the other: it returns when it is the
   * message's turn. `letGo` ends the wait.
   */
  readonly takeReceived: Effect.Effect<void>
  /** Stops all writes, whatever the library still does. */
  readonly letGo: () => void
}

const cannotCommit = "a number could not store what it received, retrying"

/** Without values: they may hold what people wrote. */
const logDefects = <E>(work: Effect.Effect<void, E>): Effect.Effect<void, E> =>
  Effect.tapCause(work, (cause) => {
    if (!Cause.hasDies(cause)) return Effect.void
    const line = `${cannotCommit}: ${rootMessage(Cause.squash(cause))}`
    return throttled(cannotCommit, () => Effect.logError(line))
  })

/**
 * `isOwned`: a frozen process may wake up in the middle of its work while another owns the number.
 * `takeReceived`: see `SessionVault`.
 */
export const makeSessionAccess = (
  isOwned: () => boolean,
  takeReceived: Effect.Effect<void>,
): SessionAccess => {
  let isHeld = true
  const released = Latch.makeUnsafe(false)
  const write = <E>(work: Effect.Effect<void, E>): Effect.Effect<void> => {
    const again = Effect.andThen(
      sleep(againMillis),
      Effect.suspend(() => (isHeld ? write(work) : Effect.never)),
    )
    return isOwned() ? work.pipe(Effect.catch(() => again)) : again
  }
  return {
    read: (work) =>
      Effect.retry(
        Effect.tapError(work, () => sleep(againMillis)),
        { while: (error) => isHeld && !hasMoved(error) },
      ),
    write: (work) => Effect.suspend(() => (isHeld ? write(work) : Effect.void)),
    commit: (work) =>
      Effect.suspend(() => (isHeld ? write(Effect.sandbox(logDefects(work))) : Effect.never)),
    takeReceived: Effect.raceFirst(takeReceived, released.await),
    letGo: () => {
      isHeld = false
      released.openUnsafe()
    },
  }
}
