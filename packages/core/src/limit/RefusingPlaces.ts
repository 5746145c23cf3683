/**
 * Places of a shared resource in one process, for work that is refused where there is none, unlike
 * that of `Places`, which waits. The taker of a place gives it back, whether or not the work
 * succeeds.
 */
import type { BoundedResource } from "./sharedResources.ts"

export interface RefusingPlaces<Holder> {
  /** Takes a place of the whole; false when there is none. */
  take(): boolean
  giveBack(): void
  /** Takes a place of the holder's share; false when it has used that up. */
  takeShare(holder: Holder): boolean
  giveBackShare(holder: Holder): void
}

/** All places free. Without a share, a holder may have what the whole has. */
export const makeRefusingPlaces = <Holder>({
  share,
  whole,
}: BoundedResource): RefusingPlaces<Holder> => {
  const most = share?.most ?? whole
  const shares = new Map<Holder, number>()
  let taken = 0
  return {
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
