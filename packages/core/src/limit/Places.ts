/**
 * Places of a shared resource in one process. No holder has more of them at once than its share, so
 * that what hangs for one holder leaves room for the others; above either bound the next one waits
 * for its turn, in the order of asking.
 */
import { Effect, Scope, Semaphore } from "effect"
import type { BoundedResource } from "./sharedResources.ts"

export interface Places<Holder> {
  /** Waits for a place and has it until the scope closes. */
  readonly take: (holder: Holder) => Effect.Effect<void, never, Scope.Scope>
}

interface Share {
  readonly places: Semaphore.Semaphore
  /** How many have a place of the share or wait for one; at 0 the share is dropped. */
  users: number
}

export const makePlaces = <Holder>({
  share,
  whole,
}: Pick<BoundedResource, "share" | "whole">): Places<Holder> => {
  const all = Semaphore.makeUnsafe(whole)
  const shares = new Map<Holder, Share>()

  const join = (holder: Holder): Share => {
    const joined = shares.get(holder) ?? {
      places: Semaphore.makeUnsafe(share?.most ?? whole),
      users: 0,
    }
    shares.set(holder, joined)
    joined.users++
    return joined
  }

  const leave = (holder: Holder, left: Share): void => {
    left.users--
    if (left.users === 0) shares.delete(holder)
  }

  /** Not by `Effect.acquireRelease`, which joins all services anew for each release. */
  const takeOne = (scope: Scope.Scope, places: Semaphore.Semaphore) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.andThen(restore(places.take(1)), Scope.addFinalizer(scope, places.release(1))),
    )

  return {
    take: (holder) =>
      Effect.flatMap(Effect.scope, (scope) =>
        Effect.suspend(() => {
          const joined = join(holder)
          return Effect.as(
            Scope.addFinalizer(
              scope,
              Effect.sync(() => leave(holder, joined)),
            ),
            joined.places,
          )
        }).pipe(
          Effect.uninterruptible,
          // First its own share: one holder never fills the line of those that wait for the whole.
          Effect.flatMap((own) => takeOne(scope, own)),
          Effect.andThen(takeOne(scope, all)),
        ),
      ),
  }
}
