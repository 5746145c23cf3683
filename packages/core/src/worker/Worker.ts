/** All loops of the worker, for the worker app, the server that runs it inline, and embedders. */
import { Context, Effect, Layer } from "effect"
import { CallbackMaker } from "./CallbackMaker.ts"
import { Deliverer } from "./Deliverer.ts"
import { Dispatcher } from "./Dispatcher.ts"
import { Expirer } from "./Expirer.ts"
import { Housekeeper } from "./Housekeeper.ts"
import { Linker } from "./Linker.ts"
import { NumberChecker } from "./NumberChecker.ts"
import { ReminderRunner } from "./ReminderRunner.ts"
import { TestModeSender } from "./TestModeSender.ts"
import { TransportEvents } from "./TransportEvents.ts"

export class Worker extends Context.Service<
  Worker,
  {
    /** Runs every loop until interrupted; attempts under way are then let end, 8 s at most. */
    readonly run: Effect.Effect<never>
  }
>()("core/Worker") {
  static readonly layer = Layer.effect(
    Worker,
    Effect.gen(function* () {
      const loops = [
        (yield* Dispatcher).run,
        (yield* Deliverer).run,
        (yield* CallbackMaker).run,
        (yield* Expirer).run,
        (yield* Linker).run,
        (yield* TestModeSender).run,
        (yield* ReminderRunner).run,
        (yield* Housekeeper).run,
        (yield* NumberChecker).run,
        (yield* TransportEvents).run,
      ]
      return Worker.of({
        run: Effect.andThen(
          Effect.all(loops, { concurrency: "unbounded", discard: true }),
          Effect.never,
        ),
      })
    }),
  )

  /** Runs the worker for as long as the layer lives. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Worker, (worker) => Effect.forkScoped(worker.run)),
  )
}
