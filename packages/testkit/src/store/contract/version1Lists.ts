/** `Version1ListStore`: pages by offset with a total, of records that other ports wrote. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { MediaType, Mode } from "@messaging-service/core"
import { Effect } from "effect"
import type { Topic } from "../Topic.ts"
import { aMediaFile, aNewMediaFile, aWorkspace } from "../Records.ts"

const everything = { offset: 0, limit: 1000 }

export const version1Lists: Topic = (it) => {
  it.effect("files of the directory, of one type or both", () =>
    Effect.gen(function* () {
      const { version1Lists: store, media: directory } = yield* Store

      const workspace = yield* aWorkspace()
      const image = yield* aMediaFile(workspace.id)
      const file = yield* aMediaFile(workspace.id, { type: "file" })
      const another = yield* aMediaFile(workspace.id)
      const test = yield* aMediaFile(workspace.id, { mode: "test" })
      yield* aMediaFile((yield* aWorkspace()).id)
      // Not committed yet, and deleted.
      yield* directory.reserve(aNewMediaFile(workspace.id), Number.MAX_SAFE_INTEGER)
      const deleted = yield* aMediaFile(workspace.id)
      yield* directory.delete(workspace.id, "live", deleted.id)
      const list = (type: MediaType | null, query = everything, mode: Mode = "live") =>
        store.media({ workspaceId: workspace.id, mode }, type, query)
      assert.deepStrictEqual(yield* list(null), { total: 3, items: [another, file, image] })
      assert.deepStrictEqual(yield* list("image"), { total: 2, items: [another, image] })
      assert.deepStrictEqual(yield* list("file"), { total: 1, items: [file] })
      assert.deepStrictEqual(yield* list("image", { offset: 1, limit: 1 }), {
        total: 2,
        items: [image],
      })
      assert.deepStrictEqual(yield* list(null, { offset: 3, limit: 1 }), { total: 3, items: [] })
      assert.deepStrictEqual(yield* list(null, everything, "test"), { total: 1, items: [test] })
    }),
  )
}
