/**
 * The environment for tests of live transports: the real clock, proxies of numbers, the transport's
 * events, and waits over sockets.
 */
import { NumberProxies, Store } from "@messaging-service/core"
import type {
  NumberId,
  OutgoingMessage,
  Target,
  Transport,
  TransportEvent,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { anEventId, aTransportId, fresh } from "../store/Records.ts"

/** Connections use the real clock, not the test's. */
export const realClock = Layer.succeed(Clock.Clock, Clock.Clock.defaultValue())

/** The transport's events, oldest first. */
export const Told = Context.Service<"testkit/Told", Array<TransportEvent>>("testkit/Told")

/** Listens to the transport while the layer lives, and updates numbers' statuses by its events. */
export const layerTold = <Identifier>(transport: Context.Key<Identifier, Transport>) =>
  Layer.effect(
    Told,
    Effect.gen(function* () {
      const received: Array<TransportEvent> = []
      const { numbers } = yield* Store
      const { listen } = yield* transport
      yield* Effect.forkScoped(
        listen((event) =>
          Effect.gen(function* () {
            received.push(event)
            if (event._tag === "ConnectionChanged") {
              const { numberId, phone: digits, reason, status } = event
              yield* numbers.setStatus(numberId, status, digits ?? undefined, 0, null, reason)
            }
            if (event._tag === "RestrictionsChanged") {
              yield* numbers.restrict(event.numberId, event.restrictions, 0, anEventId(), 60_000)
            }
          }).pipe(Effect.orDie),
        ),
      )
      return received
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

/** Digits of a phone unique on the remote server. */
export const someDigits = (): string => `49151${String(10_000_000 + fresh())}`

export const aText = (numberId: NumberId, to: Target, text = "Hello"): OutgoingMessage => ({
  numberId,
  transportId: aTransportId(),
  to,
  text,
  media: null,
})

/** Runs everything else of the process, sockets too, until the condition holds. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const check = () => {
      if (condition()) resume(Effect.void)
      else timer = setTimeout(check, 5)
    }
    let timer = setTimeout(check, 0)
    return Effect.sync(() => clearTimeout(timer))
  })

/** The same for an effectful condition. */
export const untilSo = <R>(
  condition: Effect.Effect<boolean, never, R>,
): Effect.Effect<void, never, R> =>
  Effect.gen(function* () {
    while (!(yield* condition)) yield* until(() => true)
  })
