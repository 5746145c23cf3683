/**
 * Asking a store again until it answers, for those whose connections to the far side must not end, or go
 * on without what they need, because the store was away.
 */
import { Effect } from "effect"
import { sleep } from "../time/RealTime.ts"
import { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { NumberMoved } from "./NumberOwnership.ts"

/** Between two tries, in real milliseconds. */
const againMillis = 250

const hasMoved = (error: unknown): error is NumberMoved => error instanceof NumberMoved

/**
 * Asks until the store answers. That a number moved is an answer, and so is that what it keeps cannot be
 * opened: asked again it would say the same.
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

/** What a library reads and writes of its number, for as long as its connection is kept here. */
export interface Hold {
  /** Asks until the store answers, for as long as the number is held and this worker's. */
  read<A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E>
  /**
   * The same for a write. What is not written must not leave: a write that is refused because another
   * worker has the number does not end, so that the library does not go on to what comes behind it. It is
   * tried again for as long as the number is held, since a worker may be in doubt for a moment alone, as
   * after its clock was set forward.
   */
  write<E>(work: Effect.Effect<void, E>): Effect.Effect<void, E>
  /** From now on nothing is written any more, whatever the library still does. */
  readonly letGo: () => void
}

/** `isOwned`: a process that was frozen wakes up in the midst of its work, and another has the number. */
export const makeHold = (isOwned: () => boolean): Hold => {
  let isHeld = true
  const read = <A, E>(work: Effect.Effect<A, E>) =>
    Effect.retry(
      Effect.tapError(work, () => sleep(againMillis)),
      { while: (error) => isHeld && isOwned() && !hasMoved(error) },
    )
  const write = <E>(work: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.suspend(() =>
      isOwned() ? Effect.catchIf(read(work), hasMoved, () => refused(work)) : refused(work),
    )
  const refused = <E>(work: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.andThen(
      sleep(againMillis),
      Effect.suspend(() => (isHeld ? write(work) : Effect.never)),
    )
  return {
    read,
    write: (work) => Effect.suspend(() => (isHeld ? write(work) : Effect.void)),
    letGo: () => {
      isHeld = false
    },
  }
}
