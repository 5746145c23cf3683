/**
 * Many files at once, most of them wrong in some way: only what is right is kept, no other host is called, and
 * no message waits for a file.
 */
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { assert, layer } from "@effect/vitest"
import {
  makeMediaFetcher,
  MediaFiles,
  NumberOwnership,
  Store,
  TelegramTransport,
  WakeUp,
} from "@messaging-service/core"
import { layerMediaFiles } from "@messaging-service/store-memory"
import { bySize, live } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { SentFile } from "@messaging-service/whatsapp-server"
import { Effect, Latch, Layer, Stream } from "effect"
import { aLinkedNumber, aPerson, getReceived, layerWorld, withConversations } from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"

const size = bySize({
  change: { numbers: 2, files: 60 },
  all: { numbers: 4, files: 400 },
  night: { numbers: 20, files: 2000 },
})

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

/** A stranger's server, with a count of the connections to it. */
const anotherHost = Effect.acquireRelease(
  Effect.promise(async () => {
    const calls = { count: 0 }
    const server = createServer((socket) => {
      calls.count++
      socket.destroy()
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    return { calls, host, close: () => server.close() }
  }),
  ({ close }) => Effect.sync(close),
)

/** What is wrong with a file, and what happens to it. */
const faults = (host: string): ReadonlyArray<readonly [Partial<SentFile>, string]> => [
  [{}, "ready"],
  [{ wrong: "seal" }, "refused"],
  [{ wrong: "sealed hash" }, "refused"],
  [{ wrong: "hash" }, "refused"],
  [{ wrong: "length" }, "refused"],
  [{ pointer: { url: `https://${host}/file` } }, "ready"],
  [{ pointer: { directPath: `@${host}/file` } }, "refused"],
  [{ pointer: { directPath: `https://${host}/file` } }, "refused"],
  [{ ended: 410 }, "ready"],
  [{ ended: 404, renewal: "not found" }, "gone"],
]

interface Sent {
  readonly state: string
  readonly hash: string
}

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")

/** The state of each kept file, and its bytes. */
const readFiles = (numbers: ReadonlyArray<LinkedNumber>) =>
  Effect.gen(function* () {
    const files = yield* MediaFiles
    const { receivedFiles } = yield* Store
    const found = new Map<string, { readonly state: string; readonly hash: string | null }>()
    for (const message of (yield* Effect.forEach(numbers, getReceived)).flat()) {
      if (message.file === null) continue
      const file = yield* receivedFiles.find(message.id)
      const stored = file?.stored ?? null
      const bytes =
        stored === null
          ? null
          : yield* Effect.flatMap(files.open(stored.storageKey), ({ content }) =>
              Stream.mkUint8Array(content),
            )
      const state = file?.state ?? message.file.state
      found.set(message.file.fileName ?? "", { state, hash: bytes && hash(bytes) })
    }
    return found
  })

layer(layerWorld)("many files", (it) => {
  it.effect(
    `${size.files} at once: only the right ones are kept, and only their host is called`,
    () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const { calls, host } = yield* anotherHost
        const first = yield* aLinkedNumber
        const numbers = [first, ...(yield* Effect.replicateEffect(aLinkedNumber, size.numbers - 1))]
        const settings = {
          media: "on_arrival",
          maxFileBytes: 1_000_000,
          maxStorageBytes: 100_000_000,
        } as const
        for (const number of numbers) yield* withConversations(number, true, settings)
        const people = yield* Effect.replicateEffect(aPerson, 10)
        const kinds = faults(host)
        const expected = new Map<string, Sent>()
        const files = yield* MediaFiles

        for (let index = 0; index < size.files; index++) {
          const [fault, state] = kinds[index % kinds.length]!
          const bytes = randomBytes(1 + (index % 5000))
          const fileName = `file ${index}`
          expected.set(fileName, { state, hash: hash(bytes) })
          const file = { kind: "document", bytes, fileName, ...fault } as const
          const number = numbers[index % numbers.length]!
          yield* server.write(people[index % people.length]!, number.digits, { file })
        }
        let waiting = 0
        const disk = Latch.makeUnsafe(false)
        const fetcher = yield* Effect.provideService(makeMediaFetcher, MediaFiles, {
          ...files,
          spool: (content, maximumBytes) => {
            waiting++
            return Effect.andThen(disk.await, files.spool(content, maximumBytes))
          },
        })
        yield* Effect.forkScoped(fetcher.run)
        // Files wait for the disk, and no message waits for its file.
        yield* live.until(() => waiting > 0)
        yield* server.until(() =>
          numbers.every(({ digits }) => server.unanswered(digits).length === 0),
        )
        yield* disk.open
        yield* live.untilSo(
          Effect.map(Effect.forEach(numbers, getReceived), (received) =>
            received.flat().every(({ file }) => file?.state !== "remote"),
          ),
        )

        const found = yield* readFiles(numbers)
        assert.strictEqual(found.size, size.files)
        for (const [fileName, sent] of expected) {
          const file = found.get(fileName)
          const stored = sent.state === "ready" ? sent.hash : null
          assert.deepStrictEqual(file, { state: sent.state, hash: stored }, fileName)
        }
        assert.strictEqual(calls.count, 0)
      }).pipe(Effect.provide(Layer.provideMerge(layerFetching, live.realClock)), Effect.scoped),
  )
})
