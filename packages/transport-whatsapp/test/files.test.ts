/** Files that people send to a linked number: fetched from WhatsApp's host, unsealed, and kept when all is right. */
import { randomBytes } from "node:crypto"
import { assert, describe, it, layer } from "@effect/vitest"
import {
  makeMediaFetcher,
  MediaFiles,
  NumberOwnership,
  Store,
  TelegramTransport,
  WakeUp,
} from "@messaging-service/core"
import { layerMediaFiles } from "@messaging-service/store-memory"
import { live } from "@messaging-service/testkit"
import { someProxies, WhatsAppServer, withCredentials } from "@messaging-service/whatsapp-server"
import type { SentFile } from "@messaging-service/whatsapp-server"
import { Effect, Layer, Stream } from "effect"
import { toFileAccess } from "../src/files.ts"
import {
  aLinkedNumber,
  aPerson,
  getReceived,
  layerAdapter,
  layerServer,
  layerStores,
  layerWorld,
  Proxies,
  withConversations,
} from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"

const layerFetching = Layer.mergeAll(
  layerMediaFiles,
  WakeUp.layerLocal,
  NumberOwnership.layerAll,
  Layer.succeed(TelegramTransport, {
    dropsCopies: true,
    send: () => Effect.succeed({ _tag: "NotConnected" }),
    listen: () => Effect.never,
  }),
)

const aConversation = Effect.gen(function* () {
  const number = yield* Effect.flatMap(aLinkedNumber, (linked) =>
    withConversations(linked, true, {
      media: "on_arrival",
      maxFileBytes: 1_000_000,
      maxStorageBytes: 10_000_000,
    }),
  )
  return { number, other: yield* aPerson }
})

/** A person sends the file. Its state after one try, and its bytes. */
const fetched = (
  number: LinkedNumber,
  from: string,
  file: SentFile,
  before: (id: string) => Effect.Effect<void, never, WhatsAppServer> = () => Effect.void,
) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    const id = yield* server.write(from, number.digits, { file })
    yield* server.until(() => server.unanswered(number.digits).length === 0)
    yield* before(id)
    const fetcher = yield* makeMediaFetcher
    assert.strictEqual(yield* fetcher.runOnce, 1)
    const message = (yield* getReceived(number)).at(-1)
    assert.isDefined(message)
    const found = yield* Store.use(({ receivedFiles }) => receivedFiles.find(message.id))
    const files = yield* MediaFiles
    const stored = found?.stored ?? null
    const bytes =
      stored === null
        ? null
        : yield* Effect.flatMap(files.open(stored.storageKey), ({ content }) =>
            Stream.mkUint8Array(content),
          )
    return { state: found?.state, bytes: bytes && Buffer.from(bytes), file: message.file }
  }).pipe(Effect.provide(Layer.provideMerge(layerFetching, live.realClock)), Effect.scoped)

const lengths = [0, 1, 15, 16, 17, 100_000]

layer(layerWorld)("a file that a person sends", (it) => {
  it.effect.each(["image", "video", "audio", "voice", "document", "sticker"] as const)(
    "is fetched and unsealed: %s",
    (kind) =>
      Effect.gen(function* () {
        const { number, other } = yield* aConversation
        for (const length of kind === "document" ? lengths : [1000]) {
          const bytes = randomBytes(length)
          const { bytes: got, file, state } = yield* fetched(number, other, { kind, bytes })
          assert.strictEqual(state, "ready", `${length} bytes`)
          assert.deepStrictEqual(got, bytes)
          assert.include(file, { state: "ready", size: length })
        }
      }),
  )

  it.effect.each(["seal", "sealed hash", "hash", "length"] as const)(
    "with a wrong %s is refused",
    (wrong) =>
      Effect.gen(function* () {
        const { number, other } = yield* aConversation
        const sent = { kind: "document", bytes: randomBytes(5000), wrong } as const
        const { bytes, state } = yield* fetched(number, other, sent)
        assert.strictEqual(state, "refused")
        assert.isNull(bytes)
      }),
  )

  it.effect("is fetched by its path from WhatsApp's host alone", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const bytes = randomBytes(100)
      const elsewhere = { url: "https://127.0.0.1:9/file" }
      const sent = { kind: "image", bytes, pointer: elsewhere } as const
      assert.strictEqual((yield* fetched(number, other, sent)).state, "ready")
      for (const directPath of ["@127.0.0.1:9/file", "https://127.0.0.1:9/file", ":9/file"]) {
        const { state } = yield* fetched(number, other, { ...sent, pointer: { directPath } })
        assert.strictEqual(state, "refused", directPath)
      }
    }),
  )

  it.effect("whose link has ended gets a new one from the phone, once", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const bytes = randomBytes(100)
      for (const status of [403, 404, 410]) {
        const sent = { kind: "image", bytes } as const
        const end = (id: string) => server.endLink(other, id, status)
        const { bytes: got, state } = yield* fetched(number, other, sent, end)
        assert.strictEqual(state, "ready")
        assert.deepStrictEqual(got, bytes)
      }
      const lost = { kind: "image", bytes, ended: 404, renewal: "not found" } as const
      assert.strictEqual((yield* fetched(number, other, lost)).state, "gone")
    }),
  )

  it.effect("waits while its host fails", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const sent = { kind: "image", bytes: randomBytes(100), ended: 500 } as const
      assert.strictEqual((yield* fetched(number, other, sent)).state, "remote")
    }),
  )
})

describe("the way to a file", () => {
  const socket = {} as Parameters<typeof toFileAccess>[0]
  const server = new URL("wss://web.whatsapp.com/ws/chat")

  it("leads to WhatsApp's hosts alone", () => {
    const { isHost } = toFileAccess(socket, server, undefined, null)
    assert.isTrue(isHost("mmg.whatsapp.net"))
    for (const host of ["whatsapp.net.example.com", "evilwhatsapp.net", "127.0.0.1", "localhost"]) {
      assert.isFalse(isHost(host), host)
    }
  })

  it("refuses a name that leads into this network, unless a proxy resolves it", async () => {
    const { lookup } = toFileAccess(socket, server, undefined, null)
    const answer = await new Promise((resolve) => {
      lookup?.("localhost", {}, (error) => resolve(error?.message))
    })
    assert.strictEqual(answer, "the address is not public")
    assert.isNull(toFileAccess(socket, server, undefined, "socks5://proxy.example").lookup)
  })
})

layer(
  Layer.unwrap(
    Effect.map(WhatsAppServer, ({ mediaCertificate }) =>
      layerAdapter({ trusted: [mediaCertificate] }),
    ),
  ).pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer)),
)("a file for a number with a proxy", (it) => {
  it.effect("comes through the proxy alone", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const { number, other } = yield* aConversation
      const { proxies } = yield* someProxies
      ;(yield* Proxies).set(number.id, withCredentials(proxies.socks5))
      yield* server.drop(number.digits)
      yield* live.until(() => proxies.socks5.passed.length > 0)
      const sent = { kind: "image", bytes: randomBytes(100) } as const
      assert.strictEqual((yield* fetched(number, other, sent)).state, "ready")
      assert.include(proxies.socks5.passed, server.mediaHost)
    }),
  )
})
