/** What a send asks of the store. */
import { assert, layer } from "@effect/vitest"
import { SessionVault } from "@messaging-service/core/ports"
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
} from "./LiveWorld.ts"

const asked: Array<string> = []

const layerNoted = Layer.effect(
  SessionVault,
  Effect.map(SessionVault, (vault) =>
    SessionVault.of({
      ...vault,
      keys: (numberId, type, ids) =>
        Effect.suspend(() => {
          asked.push(type)
          return vault.keys(numberId, type, ids)
        }),
    }),
  ),
).pipe(Layer.provideMerge(layerStores))

layer(layerAdapter().pipe(Layer.provideMerge(layerNoted), Layer.provideMerge(layerServer)))(
  "a text to someone who was written to before",
  (it) => {
    it.effect("reads no keys of the store", () =>
      Effect.gen(function* () {
        const number = yield* aLinkedNumber
        const other = yield* aPerson
        const send = Effect.suspend(() => sendNow(aText(number, to(other))))
        // What is kept of a recipient may be looked for behind the first acknowledgement.
        yield* send
        yield* send
        asked.length = 0
        assert.deepStrictEqual(yield* send, { _tag: "Accepted" })
        assert.deepStrictEqual(asked, [])
      }),
    )
  },
)
