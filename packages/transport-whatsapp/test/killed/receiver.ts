/**
 * A process that receives for the numbers of a database, and ends itself in one of its commits of received
 * messages. It takes its options as JSON.
 */
import { setImmediate } from "node:timers/promises"
import {
  Ids,
  NumberOwnership,
  NumberProxies,
  SecretsKey,
  SentTexts,
  SessionVault,
  Store,
  WhatsAppTransport,
  layerStoredSecrets,
  WakeUp,
} from "@messaging-service/core"
import { layer as layerPostgres } from "@messaging-service/store-postgres"
import { Effect, Layer } from "effect"
import { defaultSettings, layer as layerWhatsApp } from "../../src/index.ts"
import type { ReceiverOptions } from "./ReceiverOptions.ts"

const { address, commit, seam, secretsKey, url } = JSON.parse(
  process.argv[2] ?? "{}",
) as ReceiverOptions

const end = Effect.sync(() => void process.kill(process.pid, "SIGKILL"))

/** Lets a statement leave, and sometimes its answer come. */
const soon = Effect.promise(async () => {
  for (let passed = 0; passed < commit; passed++) await setImmediate()
})

const killing = <A>(write: Effect.Effect<A>): Effect.Effect<A> => {
  switch (seam) {
    case "before the commit":
      return Effect.andThen(end, Effect.never)
    case "in the commit":
      return Effect.raceFirst(write, Effect.andThen(soon, Effect.andThen(end, Effect.never)))
    case "after the commit":
      return Effect.andThen(write, Effect.andThen(end, Effect.never))
    default:
      return write
  }
}

const layerStore = Layer.effect(
  Store,
  Effect.map(Store, (store) => {
    let commits = 0
    const { sessions } = store
    const receive: typeof sessions.receive = (...args) => {
      const received = sessions.receive(...args)
      return ++commits === commit ? killing(Effect.orDie(received)) : received
    }
    return { ...store, sessions: { ...sessions, receive } }
  }),
).pipe(Layer.provide(layerPostgres(address)))

const layerNoProxies = Layer.succeed(NumberProxies, { of: () => Effect.succeed(null) })

const layerReceiver = layerWhatsApp({
  ...defaultSettings,
  url: new URL(url),
  firstPauseMillis: 20,
  longestPauseMillis: 100,
}).pipe(
  Layer.provide(Layer.mergeAll(SessionVault.layer, SentTexts.layer, layerNoProxies)),
  Layer.provide([layerStoredSecrets, WakeUp.layerLocal]),
  Layer.provide(Layer.mergeAll(layerStore, NumberOwnership.layerAll)),
  Layer.provide(SecretsKey.layerHex(secretsKey)),
  Layer.provide(Ids.layerRandom),
)

const receiving = Effect.flatMap(WhatsAppTransport, ({ listen }) => listen(() => Effect.void))

await Effect.runPromise(Effect.provide(receiving, layerReceiver))
