/**
 * All loops of the worker, for the worker app, the server that runs it inline, and embedders; and
 * what the transports report by themselves, ticks and connection changes, taken into the store.
 */
import { Context, Effect, Layer, Stream } from "effect"
import { Ticks } from "../message/Ticks.ts"
import { Numbers } from "../number/Numbers.ts"
import { sleep } from "../time/RealTime.ts"
import { NumberOwnership } from "../transport/NumberOwnership.ts"
import { TelegramTransport, WhatsAppTransport } from "../transport/Transport.ts"
import type { TransportEvent } from "../transport/Transport.ts"
import { Deliverer } from "./Deliverer.ts"
import { Dispatcher } from "./Dispatcher.ts"
import { Expirer, TestModeSender } from "./DueMessages.ts"
import { Housekeeper } from "./Housekeeper.ts"
import { Linker } from "./Linker.ts"
import { NumberChecker } from "./NumberChecker.ts"
import { ReminderRunner } from "./ReminderRunner.ts"

/** A tick may come before "sent" is written: it is taken again after each of these, in real time. */
const overtakenPauses = [100, 300, 1000, 3000, 10_000, 30_000]

const takeTransportEvents = Effect.gen(function* () {
  const ticks = yield* Ticks
  const numbers = yield* Numbers
  const whatsapp = yield* WhatsAppTransport
  const telegram = yield* TelegramTransport

  const logged = Effect.catchCause((cause) =>
    Effect.logError("an event of a transport was lost", cause),
  )

  /** Whether the tick came too early. */
  const tick = ({ status, transportId }: Extract<TransportEvent, { readonly _tag: "Tick" }>) =>
    Effect.map(ticks.arrived(transportId, status), (message) => message?.state === "waiting")

  const take = (event: TransportEvent) =>
    Effect.gen(function* () {
      if (event._tag === "ConnectionChanged") {
        yield* numbers.connectionChanged(event.numberId, event.status, event.phone)
      } else if (yield* tick(event)) {
        yield* Effect.forkChild(logged(takeAgain(event)))
      }
    }).pipe(logged)

  const takeAgain = Effect.fnUntraced(function* (event: Parameters<typeof tick>[0]) {
    for (const pause of overtakenPauses) {
      yield* sleep(pause)
      if (!(yield* tick(event))) return
    }
  })

  return Stream.runForEach(Stream.merge(whatsapp.events, telegram.events), take)
})

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
        (yield* Expirer).run,
        (yield* Linker).run,
        (yield* TestModeSender).run,
        (yield* ReminderRunner).run,
        (yield* Housekeeper).run,
        (yield* NumberChecker).run,
        yield* takeTransportEvents,
        (yield* NumberOwnership).hold,
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
