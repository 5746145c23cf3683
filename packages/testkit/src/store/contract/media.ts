/** `MediaStore`: the records of the media directory, and their storage. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { MediaId } from "@messaging-service/core"
import { Effect } from "effect"
import { ids } from "../Expect.ts"
import { atOnce } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aMediaFile, aWorkspace, anEra, below, noon } from "../Records.ts"
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
