/**
 * Places for lists: how many of a pool's connections may be reading lists at once, and how many of
 * those for one holder. What finds no place waits, in order: for its own holder's first, so that no
 * holder stands in line more than its share.
 */
import { sharedResources } from "@messaging-service/core"
import { Effect, Semaphore } from "effect"

const { share, whole } = sharedResources.lists

/** Of a small pool a third, but always one. */
const placesOf = (maxConnections: number): number =>
  Math.max(1, Math.min(whole, Math.floor(maxConnections / 3)))

interface Holder {
  readonly places: Semaphore.Semaphore
  /** Lists of it that run or wait; with the last one it is forgotten. */
  lists: number
}

/** For a pool of that size: runs an effect once there is a place for the holder's list. */
export const listPlaces = (
  maxConnections: number,
): ((
  holder: string | number,
) => <A, E, R>(list: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) => {
  const places = Semaphore.makeUnsafe(placesOf(maxConnections))
  const holders = new Map<string | number, Holder>()

  return (name) => (list) =>
    Effect.suspend(() => {
      const holder = holders.get(name) ?? { places: Semaphore.makeUnsafe(share.most), lists: 0 }
      holders.set(name, holder)
      holder.lists++
      return list.pipe(
        places.withPermits(1),
        holder.places.withPermits(1),
        Effect.ensuring(
          Effect.sync(() => {
            holder.lists--
            if (holder.lists === 0) holders.delete(name)
          }),
        ),
      )
    })
}
