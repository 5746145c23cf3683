/** `ReceivedFileStore`: which files of received messages are fetched, and where those are that were. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  ClaimedFile,
  ConversationSettings,
  IncomingMessage,
  ReceivedFile,
  ReceivedMessage,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { ids, only, present } from "../Expect.ts"
import { toScope } from "../Reading.ts"
import { aStage, anEra, fresh, hour, minute } from "../Records.ts"
import { leftovers } from "../Storing.ts"
import type { Topic } from "../Topic.ts"
import { aText, receive, received, turnOn, withEvents } from "./receiving.ts"

const picture: ReceivedFile = {
  mimeType: "image/png",
  size: 7,
  fileName: "a.png",
  seconds: null,
  sha256: null,
}

const aPicture = (overrides: Partial<IncomingMessage> = {}): IncomingMessage =>
  aText({ kind: "image", file: picture, fileSource: "sealed", ...overrides })

const aFetchingStage = (era: number, changes: Partial<ConversationSettings> = {}) =>
  Effect.tap(aStage({ createdAt: era }), ({ workspace }) =>
    turnOn(workspace.id, { media: "on_arrival", since: era, ...changes }),
  )

/** Those of the workspace. */
const claim = (workspaceId: WorkspaceId, now: number, changes: { readonly owned?: [] } = {}) =>
  Store.use(({ receivedFiles }) =>
    receivedFiles.claim({
      now,
      leaseUntil: now + minute,
      limit: 1000,
      perWorkspace: 1000,
      held: new Map(),
      owned: changes.owned === undefined ? "all" : { of: 4, shards: [] },
    }),
  ).pipe(Effect.map((claimed) => claimed.filter((one) => one.workspaceId === workspaceId)))

const reserve = (claimed: ClaimedFile, size: number) =>
  Store.use(({ receivedFiles }) =>
    receivedFiles.reserve(claimed, {
      workspaceId: claimed.workspaceId,
      mode: claimed.mode,
      fileName: "file",
      type: "image",
      mimeType: "image/jpeg",
      size,
      storageKey: `received ${fresh()}`,
      createdAt: 1,
    }),
  )

const keep = Effect.fnUntraced(function* keep(claimed: ClaimedFile, size = 7) {
  const { receivedFiles } = yield* Store
  assert.strictEqual((yield* reserve(claimed, size))?._tag, "Reserved")
  const file = { ...picture, size, mimeType: "image/jpeg", sha256: "ab", state: "ready" } as const
  const { id, lease } = claimed
  assert.isTrue(yield* receivedFiles.settle({ _tag: "Ready", id, lease, file }))
  return file
})

const read = ({ workspaceId }: Pick<SendingNumber, "workspaceId">, id: ReceivedMessage["id"]) =>
  Effect.map(
    Store.use(({ chats }) => chats.getReceived(toScope(workspaceId), id)),
    (message) => message?.file,
  )

const bytes = (id: WorkspaceId) =>
  Effect.map(
    Store.use(({ chats }) => chats.conversations(id)),
    (settings) => settings?.stored.bytes,
  )

const find = (id: ReceivedMessage["id"]) => Store.use(({ receivedFiles }) => receivedFiles.find(id))

export const receivedFiles: Topic = (it) => {
  it.effect("a file is due when its message comes, under a lease, until it is kept", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { queue } = yield* Store
      const { number, workspace } = yield* aFetchingStage(era)
      const [{ id }] = [only(yield* received(number, [aPicture({ remoteId: "R1" })], era))]
      assert.deepStrictEqual(yield* read(number, id), { ...picture, state: "remote" })
      assert.deepStrictEqual(yield* find(id), { state: "remote", stored: null })
      assert.isAtMost((yield* queue.nextDue("files")) ?? Infinity, era)
      assert.isEmpty(yield* claim(workspace.id, era, { owned: [] }))
      assert.isEmpty(yield* claim(workspace.id, era - 1))
      const claimed = only(yield* claim(workspace.id, era))
      assert.deepStrictEqual(claimed, {
        id,
        workspaceId: workspace.id,
        mode: "live",
        numberId: number.id,
        platform: number.platform,
        remoteId: "R1",
        file: picture,
        source: "sealed",
        lease: 1,
        wantedAt: era,
        maxFileBytes: 1000,
      })
      assert.isEmpty(yield* claim(workspace.id, era + minute - 1))
      const again = only(yield* claim(workspace.id, era + minute))
      assert.strictEqual(again.lease, 2)
      assert.isNull(yield* reserve(claimed, 7))
      const file = yield* keep(again)
      assert.deepStrictEqual(yield* read(number, id), file)
      const stored = present((yield* find(id))?.stored)
      assert.include(stored, { size: 7, mimeType: "image/jpeg", fileName: "file" })
      assert.strictEqual(yield* bytes(workspace.id), 7)
      assert.isEmpty(yield* claim(workspace.id, era + hour))
    }),
  )

  it.effect("only a file that the settings ask for is fetched at once", () =>
    Effect.gen(function* () {
      const { receivedFiles: store } = yield* Store
      const states = [
        [{ media: "off" }, {}, "off"],
        [{}, { fileSource: null }, "gone"],
        [{ maxFileBytes: 6 }, {}, "too_large"],
        [{ media: "on_demand" }, {}, "remote"],
      ] as const
      for (const [settings, incoming, state] of states) {
        const era = anEra()
        const { number, workspace } = yield* aFetchingStage(era, settings)
        const outcome = only(yield* receive(number, [aPicture(incoming)], era))
        const id = present(outcome.id)
        assert.strictEqual((yield* read(number, id))?.state, state)
        assert.deepStrictEqual(outcome, { id, became: "stored", file: state })
        assert.isEmpty(yield* claim(workspace.id, era + hour))
        const isRemote = state === "remote"
        assert.strictEqual(yield* store.request(id, era + hour), isRemote)
        const claimed = yield* claim(workspace.id, era + hour)
        assert.deepStrictEqual(
          claimed.map(({ wantedAt }) => wantedAt),
          isRemote ? [era + hour] : [],
        )
        assert.isFalse(yield* store.request(id, era + hour), "it is claimed")
      }
    }),
  )

  it.effect("what ends is not fetched any more; what is due again is", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { receivedFiles: store } = yield* Store
      const { number, workspace } = yield* aFetchingStage(era)
      const { id } = only(yield* received(number, [aPicture()], era))
      const first = only(yield* claim(workspace.id, era))
      assert.strictEqual((yield* reserve(first, 5))?._tag, "Reserved")
      assert.strictEqual(yield* bytes(workspace.id), 5)
      const { lease } = first
      assert.isTrue(yield* store.settle({ _tag: "Again", id, lease, dueAt: era + hour }))
      assert.isFalse(yield* store.settle({ _tag: "Again", id, lease, dueAt: era }))
      assert.strictEqual(yield* bytes(workspace.id), 0)
      assert.isEmpty(yield* claim(workspace.id, era + hour - 1))
      assert.isTrue(yield* store.request(id, era + minute), "its link was called")
      const { lease: second } = only(yield* claim(workspace.id, era + minute))
      assert.isTrue(yield* store.settle({ _tag: "Ended", id, lease: second, state: "refused" }))
      assert.deepStrictEqual(yield* read(number, id), { ...picture, state: "refused" })
      assert.deepStrictEqual(yield* find(id), { state: "refused", stored: null })
      assert.isEmpty(yield* claim(workspace.id, era + 2 * hour))
    }),
  )

  it.effect("the files of a workspace never take more than their room", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aFetchingStage(era, { maxStorageBytes: 10 })
      yield* received(number, [aPicture(), aPicture()], era)
      const [first, second] = yield* claim(workspace.id, era)
      yield* keep(present(first), 7)
      assert.deepStrictEqual(yield* reserve(present(second), 4), { _tag: "Full", used: 7 })
      assert.strictEqual((yield* reserve(present(second), 3))?._tag, "Reserved")
    }),
  )

  it.effect("an erased message takes its file along", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { chats, receivedFiles: store } = yield* Store
      const { number, workspace } = yield* aFetchingStage(era)
      yield* received(number, [aPicture(), aPicture()], era)
      const [kept, pending] = (yield* claim(workspace.id, era)).toSorted((a, b) => a.id - b.id)
      yield* keep(present(kept))
      const { stored } = present(yield* find(present(kept).id))
      assert.strictEqual((yield* reserve(present(pending), 1))?._tag, "Reserved")
      for (const one of [kept, pending]) {
        const { id } = present(one)
        assert.isTrue(yield* chats.deleteReceived(toScope(workspace.id), id, era))
        assert.isNull(yield* find(id))
      }
      const { id, lease } = present(pending)
      const file = { ...picture, state: "ready" } as const
      assert.isFalse(yield* store.settle({ _tag: "Ready", id, lease, file }))
      assert.strictEqual(yield* bytes(workspace.id), 0)
      assert.include(ids(yield* leftovers(era)), present(stored).id)
      assert.isEmpty(yield* claim(workspace.id, era + hour))
    }),
  )

  it.effect("above 600 messages a minute in a chat files wait until their links are called", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aFetchingStage(era)
      const { person } = aText()
      const others = Array.from({ length: 600 }, () => aText({ person }))
      yield* Store.use(({ chats }) => chats.receive(number.id, withEvents(others), era))
      const { id } = only(yield* received(number, [aPicture({ person })], era + minute - 1))
      assert.isEmpty(yield* claim(workspace.id, era + minute))
      assert.strictEqual((yield* read(number, id))?.state, "remote")
      yield* received(number, [aPicture()], era + minute - 1)
      assert.lengthOf(yield* claim(workspace.id, era + minute), 1)
      yield* received(number, [aPicture({ person })], era + minute)
      assert.lengthOf(yield* claim(workspace.id, era + minute), 1)
    }),
  )
}
