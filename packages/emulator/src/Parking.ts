/**
 * Waiting on the service's clock, in a way that can be seen from outside. Behind an adjustable
 * clock a latency or a phone that never answers ends only when time is moved on; the emulator has
 * to know that such an attempt does not end while it waits for it (`clock/advance`, `settle`;
 * contract: Emulator controls).
 */
import type { NumberId } from "@messaging-service/core/ports"
import { Clock, Context, Effect } from "effect"

/** Which attempts wait for time alone. */
export class ParkedSends extends Context.Service<
  ParkedSends,
  {
    /**
     * The numbers of this process whose attempt does nothing until service time reaches a moment
     * that still lies ahead, or never goes on by itself.
     */
    readonly parked: Effect.Effect<ReadonlySet<NumberId>>
  }
>()("emulator/ParkedSends") {}

export interface Parking {
  /** Lets the number's attempt wait; `Infinity` for ever. */
  wait(numberId: NumberId, millis: number): Effect.Effect<void>
  readonly parked: (typeof ParkedSends.Service)["parked"]
}

interface Waiting {
  readonly numberId: NumberId
  /** The moment until which nothing happens by itself. */
  readonly until: number
}

export const makeParking = (): Parking => {
  const places = new Set<Waiting>()

  const enter = (numberId: NumberId, millis: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const place: Waiting = { numberId, until: now + millis }
      places.add(place)
      return place
    })

  return {
    wait: (numberId, millis) =>
      millis <= 0
        ? Effect.void
        : Effect.acquireUseRelease(
            enter(numberId, millis),
            () => (Number.isFinite(millis) ? Effect.sleep(millis) : Effect.never),
            (place) => Effect.sync(() => places.delete(place)),
          ),
    // An attempt whose moment has come needs no more time, even if its fiber has not run yet.
    parked: Effect.map(
      Clock.currentTimeMillis,
      (now) =>
        new Set(
          Array.from(places)
            .filter(({ until }) => until > now)
            .map(({ numberId }) => numberId),
        ),
    ),
  }
}
