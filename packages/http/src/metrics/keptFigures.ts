/**
 * The figures of the whole service, read from the store at most once in some seconds however often
 * they are asked for.
 */
import { ServiceFigures, mostCounted } from "@messaging-service/core"
import type { Figures, StoreUnavailable } from "@messaging-service/core"
import { Clock, Effect, Semaphore } from "effect"

/** How old figures may be, by the service's clock: less than scrapes usually lie apart. */
const freshMillis = 5000

export interface KeptFigures {
  readonly figures: Figures
  /** When they were read. */
  readonly at: number
}

/** Reads the figures, or gives those that were just read. */
export type ReadFigures = Effect.Effect<KeptFigures, StoreUnavailable>

export const keptFigures = Effect.gen(function* () {
  const store = yield* ServiceFigures
  const alone = yield* Semaphore.make(1)
  let kept: KeptFigures | undefined
  const fresh = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (kept !== undefined && now - kept.at < freshMillis) return kept
    return (kept = { figures: yield* store.read(now, mostCounted), at: now })
  })
  const read: ReadFigures = alone.withPermit(fresh)
  return { read }
})
