/** The times between the attempts at a delivery, and receivers that answer in real time. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

const minute = 60
export const hour = 60 * minute

/** The delays after each failed attempt, in seconds. */
export const delays = [5, 55, 4 * minute, 25 * minute, 90 * minute, 4 * hour, 7 * hour, 10 * hour]

/** Later than the jitter of a delay. */
export const surely = (delay: number) => Math.ceil(delay * 1.05) + 1

/** Waits in real time for a receiver. */
export const reached = (holds: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let check = 0; check < 2000 && !holds(); check++) {
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
    }
    assert.isTrue(holds(), "the expected state was not reached")
  })
