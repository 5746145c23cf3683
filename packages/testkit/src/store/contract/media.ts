/** `MediaStore`: the records of the media directory, and their storage. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { MediaFile, MediaId } from "@messaging-service/core"
import { Effect } from "effect"
import { ids } from "../Expect.ts"
import { atOnce } from "../Races.ts"
import { claimKey, facts } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aKey,
  aMediaFile,
  aNewMediaFile,
  aWorkspace,
  anEra,
  below,
  hour,
  minute,
  noon,
} from "../Records.ts"
import {
  anUnknownId,
  usedBy,
  reserve,
  reserved,
  commit,
  get,
  remove,
  list,
  leftovers,
} from "../Storing.ts"

export const media: Topic = (it) => {
  it.effect(
    "a file is in the directory from its commit, as given, for its workspace and mode",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).media
        const workspace = yield* aWorkspace()
        const given: Omit<MediaFile, "id"> = {
          workspaceId: workspace.id,
          mode: "test",
          fileName: "Rechnung № 7.pdf",
          type: "file",
          mimeType: "application/pdf",
          size: 67_108_864,
          storageKey: "a/b/c",
          createdAt: noon,
        }
        const reservation = yield* store.reserve(given, given.size)
        const id = reservation._tag === "Reserved" ? reservation.id : anUnknownId
        assert.isNull(yield* get(workspace.id, id, "test"))
        assert.isNull(yield* store.find(id))
        assert.deepStrictEqual((yield* list(workspace.id, { mode: "test" })).items, [])
        assert.isNull((yield* facts(workspace.id, { mode: "test", mediaId: id })).media)

        assert.isNull(yield* commit(id))
        const file: MediaFile = { ...given, id }
        assert.deepStrictEqual(yield* get(workspace.id, id, "test"), file)
        assert.deepStrictEqual(yield* store.find(id), { file, deleted: false })
        assert.deepStrictEqual((yield* list(workspace.id, { mode: "test" })).items, [file])
        assert.deepStrictEqual(
          (yield* facts(workspace.id, { mode: "test", mediaId: id })).media,
          file,
        )
        assert.isNull(yield* get(workspace.id, id, "live"))
        assert.isNull(yield* get((yield* aWorkspace()).id, id, "test"))
        assert.isNull(yield* get(workspace.id, anUnknownId, "test"))
        assert.isNull(yield* store.find(anUnknownId))
      }),
  )

  it.effect("a file that just fits is accepted, and one byte more is not", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const { id } = yield* aWorkspace()
      assert.isNotNull(yield* reserve(id, 60, 100))
      assert.isNull(yield* reserve(id, 41, 100))
      assert.isNotNull(yield* reserve(id, 40, 100))
      const full = yield* store.reserve(aNewMediaFile(id, { size: 1 }), 100)
      assert.deepStrictEqual(full, { _tag: "Full", used: 100 })
      assert.isNotNull(yield* reserve(id, 1, 101))
      assert.isNull(yield* reserve((yield* aWorkspace()).id, 1, 0))
    }),
  )

  it.effect("both modes share a workspace's storage, and workspaces do not", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      yield* aMediaFile(id, { size: 300 })
      yield* aMediaFile(id, { size: 20, mode: "test" })
      yield* reserved(id, { size: 1, mode: "test" })
      assert.strictEqual(yield* usedBy(id), 321)
      assert.strictEqual(yield* usedBy((yield* aWorkspace()).id), 0)
    }),
  )

  it.effect("a deleted or uncommitted file is missing", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const workspace = yield* aWorkspace()
      const [kept, deleted] = [
        yield* aMediaFile(workspace.id),
        yield* aMediaFile(workspace.id, { mode: "test" }),
      ]
      const uncommitted = yield* reserved(workspace.id)
      const missing = store.missing([kept.id, deleted.id, uncommitted, anUnknownId])
      assert.deepStrictEqual(yield* missing, new Set([uncommitted, anUnknownId]))
      yield* remove(workspace.id, deleted.id, "test")
      assert.deepStrictEqual(yield* missing, new Set([deleted.id, uncommitted, anUnknownId]))
      assert.deepStrictEqual(yield* store.missing([]), new Set())
    }),
  )

  it.effect("a deletion frees the file's storage at once; it happens once, in its own mode", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const workspace = yield* aWorkspace()
      const file = yield* aMediaFile(workspace.id, { size: 300 })
      assert.isNull(yield* remove((yield* aWorkspace()).id, file.id))
      assert.isNull(yield* remove(workspace.id, file.id, "test"))
      assert.isNull(yield* remove(workspace.id, anUnknownId))
      assert.strictEqual(yield* usedBy(workspace.id), 300)
      assert.deepStrictEqual(yield* remove(workspace.id, file.id), file)
      assert.isNull(yield* remove(workspace.id, file.id))
      assert.strictEqual(yield* usedBy(workspace.id), 0)
      assert.isNull(yield* get(workspace.id, file.id))
      assert.deepStrictEqual((yield* list(workspace.id)).items, [])
      assert.isNull((yield* facts(workspace.id, { mediaId: file.id })).media)
      assert.deepStrictEqual(yield* store.find(file.id), { file, deleted: true })
    }),
  )

  it.effect("an abandoned reservation frees its storage and never becomes a file", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const { id: workspaceId } = yield* aWorkspace()
      const id = yield* reserved(workspaceId, { size: 300 })
      assert.isNull(yield* remove(workspaceId, id))
      yield* store.discard(id)
      yield* store.discard(id)
      assert.strictEqual(yield* usedBy(workspaceId), 0)
      assert.strictEqual(yield* commit(id), "reservation")
      assert.isNull(yield* get(workspaceId, id))
      assert.isNull(yield* store.find(id))
      assert.strictEqual(yield* commit(anUnknownId), "reservation")
    }),
  )

  it.effect("a file in the directory cannot be committed again nor abandoned", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const file = yield* aMediaFile((yield* aWorkspace()).id)
      assert.strictEqual(yield* commit(file.id), "reservation")
      yield* store.discard(file.id)
      assert.deepStrictEqual(yield* get(file.workspaceId, file.id), file)
    }),
  )

  it.effect("the commit finishes the idempotency record, if its claim is still held", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const { key } = yield* aKey(workspace.id)
      const claim = aClaim(key.id)
      const id = yield* reserved(workspace.id)
      assert.strictEqual(yield* commit(id, claim), "idempotency")
      assert.isNull(yield* get(workspace.id, id))
      yield* claimKey(workspace.id, claim)
      assert.strictEqual(yield* commit(id, { ...claim, token: "another's" }), "idempotency")
      assert.strictEqual(yield* commit(anUnknownId, claim), "reservation")
      assert.isNull(yield* commit(id, claim))
      assert.isNotNull(yield* get(workspace.id, id))
      assert.deepStrictEqual(yield* claimKey(workspace.id, { ...claim, token: "a repeat" }), {
        _tag: "Finished",
        record: { fingerprint: claim.fingerprint, madeIds: [id], createdAt: noon },
      })
    }),
  )

  it.effect("files are listed newest first, by type, separately for each mode", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const a = yield* aMediaFile(id, { type: "file" })
      const b = yield* aMediaFile(id, { type: "image" })
      const test = yield* aMediaFile(id, { type: "file", mode: "test" })
      yield* reserved(id, { type: "file" })
      yield* remove(id, (yield* aMediaFile(id, { type: "file" })).id)
      const c = yield* aMediaFile(id, { type: "file" })
      yield* aMediaFile((yield* aWorkspace()).id, { type: "file" })
      assert.deepStrictEqual(yield* list(id), { items: [c, b, a], next: null })
      assert.deepStrictEqual(yield* list(id, { mode: "test" }), { items: [test], next: null })
      assert.deepStrictEqual((yield* list(id, { type: "image" })).items, [b])
      const page = yield* list(id, { type: "file", limit: 1 })
      assert.deepStrictEqual(page, { items: [c], next: c.id })
      assert.deepStrictEqual(yield* list(id, { type: "file", limit: 1, before: page.next }), {
        items: [a],
        next: null,
      })
    }),
  )

  it.effect("the bytes of deleted or abandoned files are left over until removed", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const era = anEra()
      const { id } = yield* aWorkspace()
      const kept = yield* aMediaFile(id, { createdAt: era })
      const deleted = yield* aMediaFile(id, { createdAt: era })
      const discarded = yield* reserved(id, { createdAt: era, storageKey: "given up" })
      const mine = [kept.id, deleted.id, discarded]
      const left = Effect.map(leftovers(era), (found) => found.filter((x) => mine.includes(x.id)))
      assert.deepStrictEqual(yield* left, [])
      yield* remove(id, deleted.id)
      yield* store.discard(discarded)
      assert.deepStrictEqual(yield* left, [
        { id: deleted.id, storageKey: deleted.storageKey },
        { id: discarded, storageKey: "given up" },
      ])
      yield* store.removed([deleted.id, kept.id])
      assert.deepStrictEqual(ids(yield* left), [discarded])
      yield* store.removed([discarded])
      assert.deepStrictEqual(yield* left, [])
      yield* remove(id, kept.id)
      assert.deepStrictEqual(ids(yield* left), [kept.id])
    }),
  )

  it.effect("the sweep abandons old reservations, and young ones continue", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { id } = yield* aWorkspace()
      const old = yield* reserved(id, { size: 10, createdAt: era })
      const young = yield* reserved(id, { size: 1, createdAt: era + minute })
      assert.include(ids(yield* leftovers(era + minute)), old)
      assert.strictEqual(yield* usedBy(id), 1)
      assert.strictEqual(yield* commit(old), "reservation")
      assert.isNull(yield* commit(young))
    }),
  )

  it.effect("the files of a deleted workspace go with it", () =>
    Effect.gen(function* () {
      const era = anEra()
      const workspace = yield* aWorkspace()
      const files = [
        yield* aMediaFile(workspace.id),
        yield* aMediaFile(workspace.id, { mode: "test" }),
      ]
      const other = yield* aMediaFile((yield* aWorkspace()).id)
      assert.notInclude(ids(yield* leftovers(era)), files[0]?.id)
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon))
      const left = ids(yield* leftovers(era))
      assert.includeMembers([...left], [...ids(files)])
      assert.notInclude(left, other.id)
      assert.isNull(yield* get(workspace.id, files[0]?.id ?? anUnknownId))
      assert.strictEqual(yield* usedBy(workspace.id), 0)
    }),
  )

  it.effect("leftovers come in the requested number, and none is lost", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const era = anEra()
      const { id } = yield* aWorkspace()
      const mine = yield* Effect.replicateEffect(reserved(id, { createdAt: era }), 5)
      const found = new Set<MediaId>()
      for (;;) {
        const left = yield* store.leftovers({ reservedBefore: era + 1, limit: 2 })
        assert.isAtMost(left.length, 2)
        if (left.length === 0) break
        for (const each of left) found.add(each.id)
        yield* store.removed(ids(left))
      }
      assert.includeMembers([...found], [...mine])
      assert.strictEqual(yield* usedBy(id), 0)
    }),
  )

  it.effect("a deleted file is remembered until its bytes are gone and it is old", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const era = anEra()
      const { id } = yield* aWorkspace()
      const file = yield* aMediaFile(id, { createdAt: era })
      const kept = yield* aMediaFile(id, { createdAt: era })
      const isKnown = Effect.map(store.find(file.id), (found) => found !== null)
      yield* remove(id, file.id)
      yield* store.forget(era + hour)
      assert.isTrue(yield* isKnown)
      yield* store.removed([file.id])
      yield* store.forget(era)
      assert.isTrue(yield* isKnown)
      yield* store.forget(era + hour)
      assert.isFalse(yield* isKnown)
      assert.deepStrictEqual(yield* get(id, kept.id), kept)
    }),
  )
}

export const mediaRaces: Topic = (it, { parallel }) => {
  it.effect("concurrent uploads never exceed the storage, and fill it to the last byte", () =>
    Effect.gen(function* () {
      for (let round = 0; round < (parallel ? 20 : 3); round++) {
        const { id } = yield* aWorkspace()
        const sizes = yield* Effect.replicateEffect(below(40), 30)
        const limit = 200
        const outcomes = yield* Effect.forEach(
          sizes,
          (size) => Effect.map(reserve(id, size, limit), (taken) => ({ size, taken })),
          atOnce,
        )
        const total = outcomes
          .filter(({ taken }) => taken !== null)
          .reduce((sum, { size }) => sum + size, 0)
        assert.isAtMost(total, limit)
        for (const { size, taken } of outcomes) {
          if (taken === null) assert.isAbove(total + size, limit, "refused although it fits")
        }
        assert.strictEqual(yield* usedBy(id), total)
        assert.isNotNull(yield* reserve(id, limit - total, limit))
        assert.isNull(yield* reserve(id, 1, limit))
      }
    }),
  )

  it.effect("the used storage matches the files, whatever happens to them at once", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      for (let round = 0; round < (parallel ? 10 : 3); round++) {
        const era = anEra()
        const { id: workspaceId } = yield* aWorkspace()
        const upload = Effect.gen(function* () {
          const size = yield* below(1000)
          const fate = yield* below(5)
          const id = yield* reserved(workspaceId, { size, createdAt: era })
          if (fate === 0) return yield* store.discard(id)
          yield* commit(id)
          if (fate > 2) return
          yield* Effect.all([remove(workspaceId, id), remove(workspaceId, id)], atOnce)
        })
        const sweep = Effect.flatMap(leftovers(era + 1), (left) => store.removed(ids(left)))
        yield* Effect.all(
          Array.from({ length: 24 }, (_, index) => (index % 8 === 7 ? sweep : upload)),
          atOnce,
        )
        const { items } = yield* list(workspaceId)
        const kept = items.reduce((sum, file) => sum + file.size, 0)
        assert.strictEqual(yield* usedBy(workspaceId), kept)
      }
    }),
  )

  it.effect("a race of commit and sweep has one winner, and the other sees it", () =>
    Effect.gen(function* () {
      for (let round = 0; round < (parallel ? 30 : 3); round++) {
        const era = anEra()
        const { id: workspaceId } = yield* aWorkspace()
        const id = yield* reserved(workspaceId, { size: 7, createdAt: era })
        const [broken] = yield* Effect.all([commit(id), leftovers(era + 1)], atOnce)
        const left = ids(yield* leftovers(era))
        if (broken === null) {
          assert.notInclude(left, id)
          assert.isNotNull(yield* get(workspaceId, id))
          assert.strictEqual(yield* usedBy(workspaceId), 7)
        } else {
          assert.include(left, id)
          assert.isNull(yield* get(workspaceId, id))
          assert.strictEqual(yield* usedBy(workspaceId), 0)
        }
      }
    }),
  )
}
