/**
 * Places of a shared resource in one process. No holder has more of them at once than its share, so
 * that what hangs for one holder leaves room for the others; above either bound the next one waits
 * for its turn, in the order of asking.
 */
import { Effect, Semaphore } from "effect"
import type { Scope } from "effect"
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

  return {
    take: (holder) =>
      Effect.acquireRelease(
        Effect.sync(() => join(holder)),
        (joined) => Effect.sync(() => leave(holder, joined)),
      ).pipe(
        // First its own share: one holder never fills the line of those that wait for the whole.
        Effect.flatMap(({ places }) => places.takeScoped(1)),
        Effect.andThen(all.takeScoped(1)),
      ),
  }
}
