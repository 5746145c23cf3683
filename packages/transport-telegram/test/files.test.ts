/** Files that people send to an account: fetched part by part, with references that are renewed once. */
import { randomBytes } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import {
  makeMediaFetcher,
  MediaFiles,
  NumberOwnership,
  Store,
  WakeUp,
  WhatsAppTransport,
} from "@messaging-service/core"
import { layerMediaFiles } from "@messaging-service/store-memory"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { Group } from "@messaging-service/telegram-server"
import { aWorkspace, live } from "@messaging-service/testkit"
import { Effect, Layer, Stream } from "effect"
import { aNumber, aPerson, layerWorld, logIn, untilSo } from "./LiveWorld.ts"

const layerFetching = Layer.mergeAll(
  layerMediaFiles,
  WakeUp.layerLocal,
  NumberOwnership.layerAll,
  Layer.succeed(WhatsAppTransport, {
    dropsCopies: true,
    send: () => Effect.succeed({ _tag: "NotConnected" }),
    listen: () => Effect.never,
  }),
)

/** An account of a workspace that fetches files, and a person. */
const aConversation = Effect.gen(function* () {
  const { chats } = yield* Store
  const { id: workspaceId } = yield* aWorkspace({ plan: null })
  yield* chats.putConversations(workspaceId, {
    groups: true,
    retentionDays: 30,
    media: "on_arrival",
    maxFileBytes: 2_000_000,
    maxStorageBytes: 10_000_000,
    holdNewChats: false,
    since: 0,
  })
  const { digits } = yield* aPerson()
  const id = yield* aNumber(digits, workspaceId)
  yield* logIn(id, digits)
  const scope = { workspaceId, mode: "live", restriction: null } as const
  const received = Store.use((store) => store.chats.receivedAfter(scope, id, 0, null, 5000)).pipe(
    Effect.orDie,
  )
  return { digits, received, other: (yield* aPerson()).digits }
})

type Conversation = Effect.Success<typeof aConversation>

type Attachment = NonNullable<
  Extract<Parameters<typeof TelegramServer.Service.write>[2], object>["file"]
>

/** A person sends the file. Its state after one try, and its bytes. */
const fetched = (
  { digits, other, received }: Conversation,
  file: Attachment,
  before: Effect.Effect<void, never, TelegramServer> = Effect.void,
  group: Group | null = null,
) =>
  Effect.gen(function* () {
    const server = yield* TelegramServer
    const { length } = yield* received
    yield* server.write(other, group ?? digits, { text: "Look", file })
    yield* untilSo(Effect.map(received, (messages) => messages.length > length))
    yield* before
    const fetcher = yield* makeMediaFetcher
    assert.strictEqual(yield* fetcher.runOnce, 1)
    const message = (yield* received).at(-1)
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
    return { state: found?.state, bytes: bytes && Buffer.from(bytes) }
  }).pipe(Effect.provide(Layer.provideMerge(layerFetching, live.realClock)), Effect.scoped)

layer(layerWorld)("a file that a person sends", (it) => {
  it.effect.each(["photo", "video", "audio", "voice", "document", "sticker"] as const)(
    "is fetched: %s",
    (kind) =>
      Effect.gen(function* () {
        const conversation = yield* aConversation
        // One part, whole parts, and more.
        for (const length of kind === "document" ? [1, 524_288, 1_300_000] : [1000]) {
          const bytes = randomBytes(length)
          const { bytes: got, state } = yield* fetched(conversation, { kind, bytes })
          assert.strictEqual(state, "ready")
          assert.deepStrictEqual(got, bytes)
        }
      }),
  )

  it.effect("whose reference has ended is asked for again", () =>
    Effect.gen(function* () {
      const conversation = yield* aConversation
      const { digits, other } = conversation
      const server = yield* TelegramServer
      const crowd = yield* server.group("Crowd", [digits, other], "supergroup")
      // Another message has the id that the file's message has in the supergroup.
      yield* server.write(other, crowd, "Hello")
      for (const [kind, group] of [
        ["document", null],
        ["photo", null],
        ["document", crowd],
        ["photo", crowd],
      ] as const) {
        const bytes = randomBytes(1000)
        const { bytes: got, state } = yield* fetched(
          conversation,
          { kind, bytes },
          server.expireFileReferences,
          group,
        )
        assert.strictEqual(state, "ready")
        assert.deepStrictEqual(got, bytes)
      }
    }),
  )

  it.effect("with another length than the message says is refused", () =>
    Effect.gen(function* () {
      const conversation = yield* aConversation
      const bytes = randomBytes(1000)
      for (const size of [999, 1001]) {
        const { state } = yield* fetched(conversation, { kind: "document", bytes, size })
        assert.strictEqual(state, "refused")
      }
    }),
  )

  it.effect("is fetched later when Telegram asks for a pause", () =>
    Effect.gen(function* () {
      const conversation = yield* aConversation
      const server = yield* TelegramServer
      const pause = server.nextCall({
        method: "upload.getFile",
        phone: conversation.digits,
        outcome: { code: 420, error: "FLOOD_WAIT_3600" },
      })
      const file = { kind: "document", bytes: randomBytes(10) } as const
      assert.strictEqual((yield* fetched(conversation, file, pause)).state, "remote")
    }),
  )
})
