/** `MediaStore`: the records of files that belong to one send. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { MediaFile, MediaId, SendingNumber, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "../Expect.ts"
import { atOnce } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aMediaFile, aMessage, aNewMediaFile, anEra, aStage, hour, noon } from "../Records.ts"

/** How long unused attachments are kept, in these tests. */
const kept = 26 * hour

/** Attaches a file; null without room. */
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

const aMessageWith = (number: SendingNumber, attachmentId: MediaId, now = noon) =>
  aMessage(number, {
    now,
    message: {
      media: { mediaId: null, attachmentId, url: null, type: "file", fileName: "a.pdf" },
    },
  })

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
