/**
 * Housekeeping: finishes removals that a killed process left half done, and drops counts that no
 * longer matter. Runs seldom, in real time, and harms nothing when several workers do it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { KeyStore } from "../key/KeyStore.ts"
import { Stranded } from "../message/Stranded.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import { minuteStart } from "../request/RateWindow.ts"
import { sleep } from "../time/RealTime.ts"
import { runLoop } from "./Loop.ts"

/** Between two droppings of old counts, in real time. */
const forgetMillis = 600_000

export class Housekeeper extends Context.Service<
  Housekeeper,
  {
    readonly run: Effect.Effect<never>
  }
>()("core/Housekeeper") {
  static readonly layer = Layer.effect(
    Housekeeper,
    Effect.gen(function* () {
      const stranded = yield* Stranded
      const keys = yield* KeyStore
      const context = yield* Effect.context<WakeUp | WorkStatus>()
      const forget = Effect.gen(function* () {
        yield* keys.forgetWrong(minuteStart(yield* Clock.currentTimeMillis))
      })
      const loop = runLoop({
        work: "stranded",
        runOnce: Effect.map(stranded.cancelSome, (cancelled) => cancelled > 0),
      }).pipe(Effect.provideContext(context))
      const forgetting = Effect.forever(
        Effect.andThen(
          sleep(forgetMillis),
          forget.pipe(Effect.catch((error) => Effect.logWarning("counts were not dropped", error))),
        ),
      )
      return Housekeeper.of({ run: Effect.raceFirst(loop, forgetting) })
    }),
  )
}
