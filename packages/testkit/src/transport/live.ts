/**
 * What tests of live transports have around them: the real clock, proxies of numbers, what a transport has
 * told, and waiting for what comes over sockets.
 */
import { NumberProxies, NumberStore } from "@messaging-service/core"
import type {
  NumberId,
  OutgoingMessage,
  Target,
  Transport,
  TransportEvent,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { aTransportId, fresh } from "../store/Records.ts"

/** Connections live by the real clock, whatever the test's own does. */
export const realClock = Layer.succeed(Clock.Clock, Clock.Clock.defaultValue())

/** What the transport told by itself, oldest first. */
export const Told = Context.Service<"testkit/Told", Array<TransportEvent>>("testkit/Told")

/** Listens to the transport for as long as the layer lives, and keeps numbers' statuses by what it tells. */
export const layerTold = <Identifier>(transport: Context.Key<Identifier, Transport>) =>
  Layer.effect(
    Told,
    Effect.gen(function* () {
      const told: Array<TransportEvent> = []
      const numbers = yield* NumberStore
      const { listen } = yield* transport
      yield* Effect.forkScoped(
        listen((event) =>
          Effect.gen(function* () {
            told.push(event)
            if (event._tag === "ConnectionChanged") {
              const { numberId, phone: digits, reason, status } = event
              yield* numbers.setStatus(numberId, status, digits ?? undefined, 0, null, reason)
            }
          }).pipe(Effect.orDie),
        ),
      )
      return told
    }),
  )

/** The URLs of numbers' proxies. */
export const Proxies = Context.Service<Map<NumberId, string>, Map<NumberId, string>>(
  "testkit/Proxies",
)

export const layerProxies = Layer.effectContext(
  Effect.sync(() => {
    const urls = new Map<NumberId, string>()
    const of = (numberId: NumberId) =>
      Effect.sync(() => {
        const url = urls.get(numberId)
        return url === undefined ? null : Redacted.make(url)
      })
    return Context.make(Proxies, urls).pipe(Context.add(NumberProxies, { of }))
  }),
)

/** Digits of a phone that no other person of the remote server has. */
export const someDigits = (): string => `49151${String(10_000_000 + fresh())}`

/** A message from that number. */
export const aText = (numberId: NumberId, to: Target, text = "Hello"): OutgoingMessage => ({
  numberId,
  transportId: aTransportId(),
  to,
  text,
  media: null,
})

/** Lets everything else of the process run, sockets too, until it is so. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const look = () => {
      if (condition()) resume(Effect.void)
      else turn = setTimeout(look, 5)
    }
    let turn = setTimeout(look, 0)
    return Effect.sync(() => clearTimeout(turn))
  })

/** The same for what must be asked for. */
export const untilSo = <R>(
  condition: Effect.Effect<boolean, never, R>,
): Effect.Effect<void, never, R> =>
  Effect.gen(function* () {
    while (!(yield* condition)) yield* until(() => true)
  })
