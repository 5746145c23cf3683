/** What the transports report by themselves: ticks and connection changes, taken into the store. */
import { Context, Effect, Layer, Stream } from "effect"
import { Ticks } from "../message/Ticks.ts"
import { Numbers } from "../number/Numbers.ts"
import { TelegramTransport, WhatsAppTransport } from "../transport/Transport.ts"
import type { TransportEvent } from "../transport/Transport.ts"

export class TransportEvents extends Context.Service<
  TransportEvents,
  { readonly run: Effect.Effect<never> }
>()("core/TransportEvents") {
  static readonly layer = Layer.effect(
    TransportEvents,
    Effect.gen(function* () {
      const ticks = yield* Ticks
      const numbers = yield* Numbers
      const whatsapp = yield* WhatsAppTransport
      const telegram = yield* TelegramTransport

      const take = (event: TransportEvent) =>
        Effect.gen(function* () {
          if (event._tag === "Tick") yield* ticks.arrived(event.transportId, event.status)
          else yield* numbers.connectionChanged(event.numberId, event.status, event.phone)
        }).pipe(
          Effect.catchCause((cause) => Effect.logError("an event of a transport was lost", cause)),
        )

      return TransportEvents.of({
        run: Stream.merge(whatsapp.events, telegram.events).pipe(
          Stream.runForEach(take),
          Effect.andThen(Effect.never),
        ),
      })
    }),
  )
}
