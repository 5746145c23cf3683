/**
 * All loops of the worker, for the worker app, the server that runs it inline, and embedders; and
 * what the transports report by themselves, ticks and connection changes, taken into the store.
 */
import { Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { MessageStore } from "../message/MessageStore.ts"
import { logTrouble } from "../monitoring/rareLog.ts"
import { Numbers } from "../number/Numbers.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import { sleep } from "../time/RealTime.ts"
import { NumberOwnership } from "../transport/NumberOwnership.ts"
import { TelegramTransport, WhatsAppTransport } from "../transport/Transport.ts"
import type { TakeEvent, TransportEvent } from "../transport/Transport.ts"
import { makeConnectionReporter } from "./ConnectionReporter.ts"
import { makeDeliverer } from "./Deliverer.ts"
import { makeDispatcher } from "./Dispatcher.ts"
import { makeExpirer, makeTestModeSender } from "./DueMessages.ts"
import { makeHousekeeper } from "./Housekeeper.ts"
import { sharedWorkStatus } from "./Loop.ts"
import { makeLinker } from "./Linker.ts"
import { makeNumberChecker } from "./NumberChecker.ts"
import { WorkGate } from "./WorkGate.ts"
import { makeReminderRunner } from "./ReminderRunner.ts"

/** A tick may come before "sent" is written: it is taken again after each of these, in real time. */
const overtakenPauses = [100, 300, 1000, 3000, 10_000, 30_000]

/** The pause in real time before something is stored again. */
const storedAgainMillis = 250

/** Stores it as soon as the store answers. */
const stored = <A>(work: Effect.Effect<A, StoreUnavailable>): Effect.Effect<A> =>
  work.pipe(
    Effect.catch((error) =>
      Effect.andThen(
        logTrouble("what a transport reports is stored again", error),
        Effect.eventually(Effect.andThen(sleep(storedAgainMillis), work)),
      ),
    ),
  )

const takeTransportEvents = Effect.gen(function* () {
  const messages = yield* MessageStore
  const numbers = yield* Numbers

  const tick = Effect.fnUntraced(function* ({
    numberId,
    status,
    transportId,
  }: Extract<TransportEvent, { readonly _tag: "Tick" }>) {
    for (const pause of overtakenPauses) {
      const message = yield* stored(messages.tick(numberId, transportId, status))
      if (message?.state !== "waiting") return
      yield* sleep(pause)
    }
    yield* stored(messages.tick(numberId, transportId, status))
  })

  const take: TakeEvent = (event) =>
    (event._tag === "Tick"
      ? tick(event)
      : stored(numbers.connectionChanged(event.numberId, event.status, event.phone, event.reason))
    ).pipe(Effect.catchCause((cause) => Effect.logError("an event of a transport was lost", cause)))

  const transports = [yield* WhatsAppTransport, yield* TelegramTransport]
  return Effect.forEach(transports, ({ listen }) => listen(take), {
    concurrency: "unbounded",
    discard: true,
  })
})

export class Worker extends Context.Service<
  Worker,
  {
    /**
     * Runs every loop until interrupted; attempts under way are then let end, for `StopMillis` at most. While
     * the gate is closed the loops are stopped in the same way, so that others take this worker's numbers.
     */
    readonly run: Effect.Effect<never>
  }
>()("core/Worker") {
  static readonly layer = Layer.effect(
    Worker,
    Effect.gen(function* () {
      const gate = yield* WorkGate
      const loops = [
        (yield* makeDispatcher).run,
        (yield* makeDeliverer).run,
        (yield* makeExpirer).run,
        (yield* makeLinker).run,
        (yield* makeTestModeSender).run,
        (yield* makeReminderRunner).run,
        (yield* makeHousekeeper).run,
        (yield* makeNumberChecker).run,
        yield* takeTransportEvents,
        (yield* NumberOwnership).hold,
        (yield* makeConnectionReporter).run,
      ]
      return Worker.of({
        run: gate.whileOpen(
          Effect.andThen(
            Effect.all(loops, { concurrency: "unbounded", discard: true }),
            Effect.never,
          ),
        ),
      })
    }).pipe(Effect.provideServiceEffect(WorkStatus, sharedWorkStatus)),
  )

  /** Runs the worker for as long as the layer lives. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Worker, (worker) => Effect.forkScoped(worker.run)),
  )
}
