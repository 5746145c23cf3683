/** What the lanes of numbers keep in columns: pacing, and the shards and shares that a claim keeps to. */
import type { Owned, Pacing, Shares } from "@messaging-service/core"

export const toPacing = (places: ReadonlyArray<number | null> | null): Pacing | null => {
  if (places === null) return null
  const [minIntervalMillis, jitterMillis, minute, hour, recipients] = places.map(
    (place) => place ?? null,
  )
  return {
    minIntervalMillis: minIntervalMillis ?? null,
    jitterMillis: jitterMillis ?? null,
    perMinute: minute ?? null,
    perHour: hour ?? null,
    newRecipientsPerDay: recipients ?? null,
  }
}

export const fromPacing = (pacing: Pacing): ReadonlyArray<number | null> => [
  pacing.minIntervalMillis,
  pacing.jitterMillis,
  pacing.perMinute,
  pacing.perHour,
  pacing.newRecipientsPerDay,
]

export const pacingOrNull = (pacing: Pacing | null): ReadonlyArray<number | null> | null =>
  pacing === null ? null : fromPacing(pacing)

/** Which numbers a claim is for, as functions and statements take it. */
export const toOwnedParams = (owned: Owned) =>
  owned === "all" ? { of: null, shards: null } : { of: owned.of, shards: owned.shards }

/** How many of each workspace are held and may be, as functions and statements take it. */
export const toShareParams = ({ held, perWorkspace }: Shares) => ({
  perWorkspace,
  workspaces: [...held.keys()],
  held: [...held.values()],
})
