/** A number with a proxy uses it for everything, and nothing goes around it. */
import { assert, layer } from "@effect/vitest"
import type { OutgoingMedia } from "@messaging-service/core"
import { WhatsAppServer, someProxies, withCredentials } from "@messaging-service/whatsapp-server"
import { Context, Effect, Layer, Stream } from "effect"
import { Sessions } from "../src/Account.ts"
import {
  aLinkedNumber,
  aPerson,
  aText,
  anUnlinkedNumber,
  layerAdapter,
  layerServer,
  layerStores,
  linkTo,
  Proxies,
  sendNow,
  to,
  until,
} from "./LiveWorld.ts"

type Some = Effect.Success<typeof someProxies>

const There = Context.Service<Some, Some>("test/There")

const layerWorld = Layer.unwrap(
  Effect.gen(function* () {
    const { certificate } = yield* There
    const { mediaCertificate } = yield* WhatsAppServer
    return layerAdapter({ trusted: [mediaCertificate, certificate] })
  }),
).pipe(
  Layer.provideMerge(Layer.effect(There, someProxies)),
  Layer.provideMerge(layerStores),
  Layer.provideMerge(layerServer),
)

const file: OutgoingMedia = {
  type: "file",
  fileName: "file.bin",
  mimeType: "application/octet-stream",
  size: 5,
  sha256: "",
  content: Stream.make(new Uint8Array(5)),
}

layer(layerWorld)("a number whose proxy speaks", (it) => {
  it.effect.each(["http", "https", "socks5"] as const)(
    "%s links, sends and uploads through it alone",
    (kind) =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const proxy = (yield* There).proxies[kind]
        const [digits, other, id] = [yield* aPerson, yield* aPerson, yield* anUnlinkedNumber]
        ;(yield* Proxies).set(id, withCredentials(proxy))
        yield* linkTo(id, digits)
        const outcome = yield* sendNow({ ...aText({ id }, to(other)), media: file })
        assert.deepStrictEqual(outcome, { _tag: "Accepted" })
        assert.strictEqual(server.copies(other), 1)
        // The linking connection, the sending one, and the upload.
        const { host } = new URL(server.url)
        assert.deepStrictEqual(proxy.passed, [host, host, server.mediaHost])
        assert.strictEqual(proxy.refused(), 0)
        // Everything through the proxy ends with it.
        const sessions = yield* Sessions
        proxy.cut()
        yield* until(() => (sessions.status(id)?.reconnects ?? 0) > 0)
        assert.strictEqual((yield* sendNow(aText({ id }, to(other))))._tag, "Accepted")
        assert.isAbove(proxy.passed.length, 3)
      }),
  )

  it.effect.each(["http", "https", "socks5"] as const)(
    "%s and refuses its credentials is not bypassed",
    (kind) =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const sessions = yield* Sessions
        const { address, refused } = (yield* There).proxies[kind]
        const number = yield* aLinkedNumber
        ;(yield* Proxies).set(number.id, address.replace("://", "://number:wrong@"))
        const logins = () => server.sessions(number.digits)[0]?.logins ?? 0
        const before = logins()
        yield* server.drop(number.digits)
        yield* until(() => refused() > 1)
        assert.strictEqual(logins(), before)
        const { reason, state } = sessions.status(number.id) ?? {}
        assert.include(["connecting", "waiting"], state)
        assert.strictEqual(reason, "connection_lost")
      }),
  )
})
