/** `MediaStore`: the records of files that belong to one send. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { MediaFile, MediaId, SendingNumber, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { ids, present } from "../Expect.ts"
import { atOnce } from "../Races.ts"
import { facts } from "../Reading.ts"
import { cancelled, end, sendNext } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aMediaFile,
  aMessage,
  aNewMediaFile,
  anEra,
  aStage,
  day,
  hour,
  minute,
  noon,
} from "../Records.ts"

/** How long unused attachments are kept, in these tests. */
const kept = 26 * hour

/** Attaches a file; null when there is no room. */
const attachWithin = (
  workspaceId: WorkspaceId,
  limit: number,
  overrides: Partial<MediaFile> = {},
) =>
  Effect.map(
    Store.use(({ media: store }) => store.attach(aNewMediaFile(workspaceId, overrides), limit)),
    (answer) => (answer._tag === "Reserved" ? answer.id : null),
  )

const attach = (workspaceId: WorkspaceId, overrides: Partial<MediaFile> = {}) =>
  Effect.map(attachWithin(workspaceId, Number.MAX_SAFE_INTEGER, overrides), present)

/** The size of the workspace's attachments, as the store checks the next one against it. */
const attachedBytes = (workspaceId: WorkspaceId) =>
  Effect.gen(function* () {
    const answer = yield* Store.use(({ media: store }) =>
      store.attach(aNewMediaFile(workspaceId), -1),
    )
    return answer._tag === "Full" ? answer.used : Number.NaN
  })

const detach = (id: MediaId) => Store.use(({ media: store }) => store.detach(id))

const find = (id: MediaId) => Store.use(({ media: store }) => store.find(id))

/** Whether it can still be sent and read. */
const isThere = (id: MediaId) => Effect.map(find(id), (found) => found?.deleted === false)

const sweep = (now: number) =>
  Store.use(({ media: store }) => store.sweepAttachments({ now, unusedSince: now - kept }))

/** Files with bytes to remove. */
const leftOver = Effect.map(
  Store.use(({ media: store }) => store.leftovers({ reservedBefore: 0, limit: 100_000 })),
  ids,
)

const aMessageWith = (number: SendingNumber, attachmentId: MediaId, now = noon) =>
  aMessage(number, {
    now,
    message: {
      media: { mediaId: null, attachmentId, url: null, type: "file", fileName: "a.pdf" },
    },
  })

export const attachments: Topic = (it) => {
  it.effect(
    "an attachment is found as given, in no directory, and takes no directory storage",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).media
        const { workspace } = yield* aStage()
        const given = aNewMediaFile(workspace.id, {
          fileName: "Rechnung № 7.pdf",
          size: 104_857_600,
        })
        const id = yield* attach(workspace.id, given)
        assert.deepStrictEqual(yield* find(id), { file: { ...given, id }, deleted: false })
        assert.isNull(yield* store.get(workspace.id, "live", id))
        assert.isNull((yield* facts(workspace.id, { mediaId: id })).media)
        assert.isNull(yield* store.delete(workspace.id, "live", id))
        const page = yield* store.list(workspace.id, "live", null, { before: null, limit: 100 })
        assert.deepStrictEqual(page.items, [])
        const full = yield* store.reserve(aNewMediaFile(workspace.id), -1)
        assert.deepStrictEqual(full, { _tag: "Full", used: 0 })
        assert.isTrue(yield* isThere(id))
      }),
  )

  it.effect("attachments have a separate bound for each workspace, for both modes together", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      yield* aMediaFile(workspace.id, { size: 300 })
      assert.isNotNull(yield* attachWithin(workspace.id, 100, { size: 60 }))
      assert.isNull(yield* attachWithin(workspace.id, 100, { size: 41, mode: "test" }))
      assert.isNotNull(yield* attachWithin(workspace.id, 100, { size: 40, mode: "test" }))
      assert.strictEqual(yield* attachedBytes(workspace.id), 100)
      assert.isNull(yield* attachWithin(workspace.id, 100, { size: 1 }))
      assert.isNotNull(yield* attachWithin(workspace.id, 101, { size: 1 }))
      assert.strictEqual(yield* attachedBytes((yield* aStage()).workspace.id), 0)
    }),
  )

  it.effect("removal frees an attachment's storage, abandoned or swept", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aStage()
      const used = yield* attach(workspace.id, { size: 5 })
      const givenUp = yield* attach(workspace.id, { size: 70 })
      yield* attach(workspace.id, { size: 800 })
      yield* aMessageWith(number, used, era)
      assert.strictEqual(yield* attachedBytes(workspace.id), 875)
      yield* detach(givenUp)
      assert.strictEqual(yield* attachedBytes(workspace.id), 805)
      yield* sweep(era)
      yield* sweep(era + kept)
      assert.strictEqual(yield* attachedBytes(workspace.id), 5)
      yield* Store.use(({ workspaces }) => workspaces.delete(workspace.id, era))
      yield* sweep(era + kept)
      assert.strictEqual(yield* attachedBytes(workspace.id), 0)
    }),
  )

  it.effect(
    "an attachment is not a reservation: it is neither committed nor abandoned as one",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).media
        const era = anEra()
        const id = yield* attach((yield* aStage()).workspace.id, { createdAt: era })
        assert.strictEqual(yield* store.commit(id, null, era), "reservation")
        yield* store.discard(id)
        yield* store.leftovers({ reservedBefore: era + day, limit: 100_000 })
        assert.isTrue(yield* isThere(id))
      }),
  )

  it.effect("an attachment is abandoned once, while no message has it", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const id = yield* attach(workspace.id)
      assert.notInclude(yield* leftOver, id)
      assert.isTrue(yield* detach(id))
      assert.isFalse(yield* detach(id))
      assert.isNull(yield* find(id))
      assert.include(yield* leftOver, id)
      assert.isFalse(yield* detach((yield* aMediaFile(workspace.id)).id))
    }),
  )

  it.effect("an attachment of a message is not abandoned, whatever happened to the message", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const id = yield* attach(workspace.id)
      const message = yield* aMessageWith(number, id)
      assert.isFalse(yield* detach(id))
      yield* end(cancelled(message))
      assert.isFalse(yield* detach(id))
      assert.isTrue(yield* isThere(id))
    }),
  )

  it.effect("an attachment goes exactly that long after its last waiting message", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aStage()
      const id = yield* attach(workspace.id)
      const first = yield* aMessageWith(number, id, era)
      yield* aMessageWith(number, id, era)
      yield* sweep(era)
      yield* end(cancelled(first, era))
      yield* sweep(era + 10 * day)
      assert.isTrue(yield* isThere(id))
      yield* sendNext(number, era + 10 * day)

      yield* sweep(era + 10 * day + minute)
      yield* sweep(era + 10 * day + minute + kept - 1)
      assert.isTrue(yield* isThere(id))
      assert.notInclude(yield* leftOver, id)
      yield* sweep(era + 10 * day + minute + kept)
      assert.isFalse(yield* isThere(id))
      assert.include(yield* leftOver, id)
      assert.strictEqual((yield* find(id))?.deleted, true)
    }),
  )

  it.effect("an attachment without a message lives as long, and may still get one", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aStage()
      const late = yield* attach(workspace.id)
      const never = yield* attach(workspace.id)
      yield* sweep(era)
      const message = yield* aMessageWith(number, late, era + minute)
      yield* sweep(era + kept)
      assert.isTrue(yield* isThere(late))
      assert.isFalse(yield* isThere(never))
      // The time before it had a message does not count.
      yield* end(cancelled(message, era + kept))
      yield* sweep(era + kept + minute)
      yield* sweep(era + 2 * kept)
      assert.isTrue(yield* isThere(late))
      yield* sweep(era + 2 * kept + minute)
      assert.isFalse(yield* isThere(late))
    }),
  )

  it.effect("the attachments of a deleted workspace go with it", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const era = anEra()
      const { number, workspace } = yield* aStage()
      const id = yield* attach(workspace.id)
      const other = yield* attach((yield* aStage()).workspace.id)
      yield* aMessageWith(number, id, era)
      yield* Store.use(({ workspaces }) => workspaces.delete(workspace.id, era))
      yield* sweep(era)
      assert.isFalse(yield* isThere(id))
      assert.isTrue(yield* isThere(other))
      assert.include(yield* leftOver, id)
      const full = yield* store.reserve(aNewMediaFile(workspace.id), -1)
      assert.deepStrictEqual(full, { _tag: "Full", used: 0 })
    }),
  )

  it.effect("an old attachment without bytes is forgotten", () =>
    Effect.gen(function* () {
      const store = (yield* Store).media
      const era = anEra()
      const id = yield* attach((yield* aStage()).workspace.id, { createdAt: era })
      yield* store.removed([id])
      yield* sweep(era)
      yield* sweep(era + kept)
      assert.include(yield* leftOver, id)
      yield* store.removed([id])
      assert.notInclude(yield* leftOver, id)
      yield* store.forget(era)
      assert.isNotNull(yield* find(id))
      yield* store.forget(era + 1)
      assert.isNull(yield* find(id))
    }),
  )
}

export const attachmentRaces: Topic = (it, { parallel }) => {
  it.effect("concurrent attachments fill their bound to the byte, during uploads", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const tried = yield* Effect.all(
        Array.from({ length: parallel ? 40 : 8 }, (_, index) =>
          index % 4 === 3
            ? Effect.as(aMediaFile(workspace.id, { size: 1000 }), null)
            : attachWithin(workspace.id, 50, { size: 10 }),
        ),
        atOnce,
      )
      assert.strictEqual(tried.filter((id) => id !== null).length, 5)
      assert.strictEqual(yield* attachedBytes(workspace.id), 50)
    }),
  )

  it.effect("a race of message and cut-off call never leaves a message without its file", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      for (let round = 0; round < (parallel ? 10 : 2); round++) {
        const id = yield* attach(workspace.id)
        // The message exists before the call ends, however many sweeps run.
        yield* aMessageWith(number, id)
        const detached = yield* Effect.all([detach(id), detach(id), detach(id)], atOnce)
        assert.notInclude(detached, true)
        assert.isTrue(yield* isThere(id))
      }
    }),
  )

  it.effect("concurrent sweeps take unused attachments and nothing else", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      for (let round = 0; round < (parallel ? 5 : 1); round++) {
        const era = anEra()
        const unused = yield* Effect.replicateEffect(attach(workspace.id), 5)
        const waiting = yield* Effect.replicateEffect(attach(workspace.id), 5)
        yield* sweep(era)
        yield* Effect.all(
          [
            ...waiting.map((id) => aMessageWith(number, id, era + 1)),
            ...Array.from({ length: 5 }, (_, index) => sweep(era + index)),
          ],
          atOnce,
        )
        yield* Effect.all(
          Array.from({ length: 5 }, (_, index) => sweep(era + kept + index)),
          atOnce,
        )
        for (const id of waiting) assert.isTrue(yield* isThere(id))
        for (const id of unused) assert.isFalse(yield* isThere(id))
      }
    }),
  )
}
