/** A send's calls of the store. */
import { assert, layer } from "@effect/vitest"
import { SessionVault } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect, Layer } from "effect"
import {
  aLinkedNumber,
  aPerson,
  aText,
  layerAdapter,
  layerServer,
  layerStores,
  sendNow,
  to,
  until,
} from "./LiveWorld.ts"

const requests: Array<string> = []
/** The types of each write. */
const written: Array<ReadonlyArray<string>> = []

/** In a store's form. */
const aMoment = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

const layerNoted = Layer.effect(
  SessionVault,
  Effect.map(SessionVault, (vault) =>
    SessionVault.of({
      ...vault,
      keys: (numberId, type, ids) =>
        Effect.suspend(() => {
          requests.push(type)
          return vault.keys(numberId, type, ids)
        }),
      write: (numberId, credentials, keys) =>
        Effect.suspend(() => {
          written.push(keys.map(({ type }) => type))
          return Effect.andThen(aMoment, vault.write(numberId, credentials, keys))
        }),
    }),
  ),
).pipe(Layer.provideMerge(layerStores))

layer(layerAdapter().pipe(Layer.provideMerge(layerNoted), Layer.provideMerge(layerServer)))(
  "a text to a known recipient",
  (it) => {
    it.effect("reads no keys of the store, and writes once: the sessions with its devices", () =>
      Effect.gen(function* () {
        const number = yield* aLinkedNumber
        const other = yield* aPerson
        const send = Effect.suspend(() => sendNow(aText(number, to(other))))
        // The recipient's state may be looked up after the first acknowledgement.
        yield* send
        yield* send
        requests.length = 0
        written.length = 0
        assert.deepStrictEqual(yield* send, { _tag: "Accepted" })
        yield* until(() => written.length > 0)
        // A number has one message in flight: after the next one nothing of this one remains.
        assert.deepStrictEqual(yield* send, { _tag: "Accepted" })
        assert.deepStrictEqual(requests, [])
        for (const types of written) assert.deepStrictEqual([...new Set(types)], ["session"])
        assert.isAtMost(written.length, 2)
      }),
    )

    it.effect("is written as a whole when several numbers write to one person at once", () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const other = yield* aPerson
        const numbers = [yield* aLinkedNumber, yield* aLinkedNumber, yield* aLinkedNumber]
        const sendAll = (times: number) =>
          Effect.forEach(
            numbers,
            (number) =>
              Effect.repeat(
                Effect.suspend(() => sendNow(aText(number, to(other)))),
                { times: times - 1 },
              ),
            { concurrency: "unbounded", discard: true },
          )
        yield* sendAll(2)
        written.length = 0
        yield* sendAll(5)
        yield* until(() => written.length >= 15)
        // The person's phone and the number's own, in one commit.
        assert.deepStrictEqual(
          written,
          Array.from({ length: 15 }, () => ["session", "session"]),
        )
        yield* server.until(() => server.copies(other) === 21)
        for (const { arrivals } of server.decrypted(other)) assert.strictEqual(arrivals, 1)
      }),
    )
  },
)
