/**
 * Places of a shared resource in one process. No holder has more of them at once than its share, so
 * that what hangs for one holder leaves room for the others. Above either bound the next one waits for
 * its turn, in the order of asking, or is refused.
 */
import { Effect, Scope, Semaphore } from "effect"

interface Bounds {
  readonly whole: number
  readonly share: { readonly most: number } | null
}

interface Share {
  readonly places: Semaphore.Semaphore
  /** How many have a place of the share or wait for one; at 0 the share is dropped. */
  users: number
}

/** For work that waits. */
export const makePlaces = <Holder>({ share, whole }: Bounds) => {
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
    /** Waits for a place and has it until the scope closes. */
    take: (holder: Holder): Effect.Effect<void, never, Scope.Scope> =>
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

/** For work that is refused where there is none. The taker of a place gives it back in any case. */
export interface RefusingPlaces<Holder> {
  /** Takes a place of the whole; false when there is none. */
  take(): boolean
  giveBack(): void
  /** Takes a place of the holder's share; false when it has used that up. */
  takeShare(holder: Holder): boolean
  giveBackShare(holder: Holder): void
  /** How many places of its share each holder has; one that is not in it has none. */
  readonly shares: ReadonlyMap<Holder, number>
}

/** All places free. Without a share, a holder may have what the whole has. */
export const makeRefusingPlaces = <Holder>({ share, whole }: Bounds): RefusingPlaces<Holder> => {
  const most = share?.most ?? whole
  const shares = new Map<Holder, number>()
  let taken = 0
  return {
    shares,
    take: () => {
      if (taken >= whole) return false
      taken++
      return true
    },
    giveBack: () => {
      taken--
    },
    takeShare: (holder) => {
      const held = shares.get(holder) ?? 0
      if (held >= most) return false
      shares.set(holder, held + 1)
      return true
    },
    giveBackShare: (holder) => {
      const held = (shares.get(holder) ?? 0) - 1
      // Holders come and go; only those that hold something are remembered.
      if (held > 0) shares.set(holder, held)
      else shares.delete(holder)
    },
  }
}
