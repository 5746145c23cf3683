/**
 * Which numbers' connections this worker holds. A single process holds all; several processes share
 * them by leases, so that no two ever hold one number's connection.
 */
import { Context, Effect, Layer } from "effect"
import type { Owned } from "../queue/LaneQueue.ts"

export class NumberOwnership extends Context.Service<
  NumberOwnership,
  {
    /** The numbers whose lanes this worker may claim now. */
    readonly owned: Effect.Effect<Owned>
  }
>()("core/NumberOwnership") {
  /**
   * Every number: for a single process, and for transports without connections of their own (the
   * simulated phones), whose sends any worker can make.
   */
  static readonly layerAll = Layer.succeed(NumberOwnership, {
    owned: Effect.succeed<Owned>("all"),
  })
}
