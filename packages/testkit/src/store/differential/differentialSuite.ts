/** Compares a store with one that is known to be right, as a test. */
import { assert, layer as tested } from "@effect/vitest"
import type { Store } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { compareStores } from "./compareStores.ts"

const timeToShrink = 900_000

export interface DifferentialOptions<E, R> {
  /** What the stores need, built once, such as a server. */
  readonly shared: Layer.Layer<R, E>
  /** How many sequences, and how many commands each has at most. */
  readonly sequences: number
  readonly length?: number
}

/** Both layers must be of empty stores; each sequence builds them again. */
export const differentialSuite = <F, G, E, R>(
  name: string,
  reference: Layer.Layer<Store, F>,
  store: Layer.Layer<Store, G, R>,
  { length = 400, sequences, shared }: DifferentialOptions<E, R>,
): void => {
  tested(shared, { excludeTestServices: true })(name, (it) => {
    // A change runs the same sequences each time: others may find what is not its own.
    const seed = Number(process.env["TEST_SEED"] ?? 1)
    it.effect(
      `answers as the reference does (TEST_SEED=${seed})`,
      () =>
        Effect.gen(function* () {
          const difference = yield* compareStores(reference, store, { length, seed, sequences })
          assert.isNull(difference, difference ?? "")
        }),
      // To shrink a difference takes some hundred sequences.
      timeToShrink,
    )
  })
}
