/** Files of received messages: what is fetched, how often, and what is kept of it. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { layerMediaFiles } from "@messaging-service/store-memory"
import { Effect, Fiber, Layer, Stream } from "effect"
import {
  FileUnavailable,
  makeNewReceived,
  MediaDirectory,
  MediaFiles,
  MediaFilesError,
  MediaLinks,
  Store,
  WakeUp,
} from "../../src/index.ts"
import type {
  FileRequest,
  IncomingMessage,
  NumberId,
  ReceivedFile,
  ReceivedMessageId,
  Transport,
  WorkspaceId,
} from "../../src/index.ts"
import {
  aSender,
  day,
  hour,
  inAService,
  layerTransports,
  minute,
  noon,
  pass,
  second,
  settled,
} from "./Service.ts"

const content = new TextEncoder().encode("What a person sent")

const described: ReceivedFile = {
  mimeType: "image/png",
  size: content.length,
  fileName: "note.txt",
  seconds: null,
  sha256: createHash("sha256").update(content).digest("hex"),
}

/** A transport that fetches these bytes, or fails, each time. */
const fetching = (...answers: ReadonlyArray<Uint8Array | FileUnavailable["reason"]>) => {
  const requests: Array<FileRequest> = []
  const transport: Transport = {
    dropsCopies: true,
    send: () => Effect.succeed({ _tag: "Accepted" }),
    listen: () => Effect.never,
    fetchFile: (request) =>
      Stream.suspend(() => {
        const answer = answers[requests.push(request) - 1] ?? content
        return typeof answer === "string"
          ? Stream.fail(new FileUnavailable({ reason: answer }))
          : Stream.make(answer.subarray(0, 3), answer.subarray(3))
      }),
  }
  return { requests, parts: { transport: layerTransports(transport) } }
}

const aListener = (settings: object = {}) =>
  Effect.tap(aSender(), ({ workspace }) =>
    Store.use(({ chats }) =>
      chats.putConversations(workspace, {
        groups: false,
        retentionDays: 30,
        media: "on_arrival",
        maxFileBytes: 1000,
        maxStorageBytes: 1000,
        holdNewChats: false,
        since: noon,
        ...settings,
      }),
    ),
  )

let written = 0

const receive = Effect.fnUntraced(function* receive(
  number: NumberId,
  file: Partial<ReceivedFile> = {},
) {
  const newReceived = yield* makeNewReceived
  const incoming: IncomingMessage = {
    _tag: "Message",
    remoteId: `R${++written}`,
    mode: "live",
    fromMe: false,
    group: null,
    person: { phone: "+15550001234", lid: null, userId: null, username: null, name: null },
    kind: "document",
    text: "",
    content: null,
    file: { ...described, ...file },
    fileSource: "the key of the file",
    quote: null,
    sentAt: noon,
  }
  const { chats } = yield* Store
  const [outcome] = yield* chats.receive(number, newReceived(number, [incoming], noon), noon)
  yield* WakeUp.use((wakeUp) => wakeUp.wake("files"))
  return outcome?.id as ReceivedMessageId
})

const state = (id: ReceivedMessageId) =>
  Effect.map(
    Store.use(({ receivedFiles }) => receivedFiles.find(id)),
    (found) => found?.state,
  )

const bytes = (workspace: WorkspaceId) =>
  Effect.map(
    Store.use(({ chats }) => chats.conversations(workspace)),
    (settings) => settings?.stored.bytes,
  )

/** Follows its link. */
const open = Effect.fnUntraced(function* open(id: ReceivedMessageId) {
  const { receivedLink } = yield* MediaLinks
  const [, , token = "", segment = ""] = new URL(receivedLink(id, "a.txt", noon)).pathname.split(
    "/",
  )
  return yield* MediaDirectory.use((directory) => directory.open(token, segment))
})

describe("a received file", () => {
  it.effect("is fetched with what its transport told, which the store has sealed", () => {
    const { parts, requests } = fetching()
    return inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aListener()
        const id = yield* receive(number)
        yield* settled
        const { sha256, size } = described
        assert.deepStrictEqual(requests, [
          {
            numberId: number,
            workspaceId: workspace,
            source: "the key of the file",
            size,
            sha256,
            maximumBytes: 1000,
          },
        ])
        const file = yield* open(id)
        assert.strictEqual(file.mimeType, "text/plain")
        assert.deepStrictEqual(yield* Stream.mkUint8Array(file.content.content), content)
        assert.strictEqual(yield* bytes(workspace), content.length)
      }),
      parts,
    )
  })

  const unkept: ReadonlyArray<
    readonly [string, Partial<ReceivedFile>, Uint8Array | FileUnavailable["reason"], string]
  > = [
    ["with another hash", { sha256: "00".repeat(32) }, content, "refused"],
    ["with another length", { size: content.length + 1 }, content, "refused"],
    ["that is longer than the message says and than may be", {}, new Uint8Array(1001), "too_large"],
    ["that its platform has no more", {}, "gone", "gone"],
    ["with another seal", {}, "refused", "refused"],
  ]
  it.effect.each(unkept)("%s is not kept", ([, file, answer, expected]) => {
    const { parts, requests } = fetching(answer)
    return inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aListener()
        const id = yield* receive(number, file)
        yield* pass(2 * day)
        assert.strictEqual(yield* state(id), expected)
        assert.lengthOf(requests, 1)
        assert.strictEqual(yield* bytes(workspace), 0)
        assert.strictEqual((yield* Effect.flip(open(id)))._tag, "Refusal")
      }),
      parts,
    )
  })

  it.effect("is tried for a day with the pauses of webhooks, and then gone", () => {
    const { parts, requests } = fetching(...Array.from({ length: 20 }, () => "later" as const))
    return inAService(
      Effect.gen(function* () {
        const { number } = yield* aListener()
        const id = yield* receive(number)
        const tries: Array<number> = []
        for (const millis of [0, 5 * second, 55 * second, 4 * minute, 25 * minute, 90 * minute]) {
          yield* pass(millis)
          tries.push(requests.length)
        }
        assert.deepStrictEqual(tries, [1, 2, 3, 4, 5, 6])
        yield* pass(20 * hour)
        assert.strictEqual(yield* state(id), "remote")
        yield* pass(day)
        assert.strictEqual(yield* state(id), "gone")
        assert.lengthOf(requests, 9)
      }),
      parts,
    )
  })

  it.effect("is waited for by a call of its link, for half a minute", () => {
    const { parts, requests } = fetching("later", "later")
    return inAService(
      Effect.gen(function* () {
        const { number } = yield* aListener({ media: "on_demand" })
        const id = yield* receive(number)
        yield* pass(hour)
        assert.lengthOf(requests, 0)
        const early = yield* Effect.forkChild(open(id))
        yield* pass(second)
        assert.lengthOf(requests, 1)
        yield* pass(6 * second)
        assert.lengthOf(requests, 2)
        assert.isUndefined(early.pollUnsafe())
        yield* pass(25 * second)
        const refused = yield* Effect.flip(Fiber.join(early))
        assert.deepInclude(refused, { code: "service_unavailable", retryAfter: 5 })
        const late = yield* Effect.forkChild(open(id))
        yield* pass(second)
        const file = yield* Fiber.join(late)
        assert.deepStrictEqual(yield* Stream.mkUint8Array(file.content.content), content)
      }),
      parts,
    )
  })

  it.effect("is fetched after a failure", () => {
    const { parts } = fetching("later", "later")
    return inAService(
      Effect.gen(function* () {
        const { number } = yield* aListener()
        const id = yield* receive(number)
        yield* settled
        assert.strictEqual(yield* state(id), "remote")
        yield* pass(minute)
        assert.strictEqual(yield* state(id), "ready")
      }),
      parts,
    )
  })

  it.effect("finds no room on a full disk, or when others take it all", () => {
    const disk = { isFull: true }
    const files = Layer.effect(
      MediaFiles,
      Effect.map(MediaFiles, (real) => ({
        ...real,
        room: Effect.suspend(() =>
          disk.isFull ? Effect.fail(new MediaFilesError({ reason: "full" })) : Effect.void,
        ),
      })),
    ).pipe(Layer.provide(layerMediaFiles))
    const { parts } = fetching()
    return inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aListener({ maxStorageBytes: content.length })
        const first = yield* receive(number)
        yield* settled
        assert.strictEqual(yield* state(first), "full")
        disk.isFull = false
        const second_ = yield* receive(number)
        yield* settled
        assert.strictEqual(yield* state(second_), "ready")
        const third = yield* receive(number)
        yield* settled
        assert.strictEqual(yield* state(third), "full")
        assert.strictEqual(yield* bytes(workspace), content.length)
      }),
      { ...parts, files },
    )
  })

  it.effect("delays no other workspace: each fetches four at once", () => {
    let under = 0
    let peak = 0
    const transport: Transport = {
      dropsCopies: true,
      send: () => Effect.succeed({ _tag: "Accepted" }),
      listen: () => Effect.never,
      fetchFile: () =>
        Stream.fromEffect(
          Effect.acquireUseRelease(
            Effect.sync(() => {
              peak = Math.max(peak, ++under)
            }),
            () => Effect.as(Effect.sleep(second), content),
            () => Effect.sync(() => under--),
          ),
        ),
    }
    return inAService(
      Effect.gen(function* () {
        const { number } = yield* aListener()
        for (let index = 0; index < 9; index++) yield* receive(number)
        yield* pass(0)
        assert.strictEqual(under, 4)
        const other = yield* aListener()
        yield* receive(other.number)
        yield* pass(0)
        assert.strictEqual(under, 5)
        yield* pass(minute)
        assert.strictEqual(peak, 5)
      }),
      { transport: layerTransports(transport) },
    )
  })
})
