/** `ContactStore` and `MediaStore`: what messages refer to. */
import { assert } from "@effect/vitest"
import { ContactStore, MediaStore } from "@messaging-service/core"
import type { ContactId, MediaFile, MediaId } from "@messaging-service/core"
import { Effect } from "effect"
import type { Topic } from "../Topic.ts"
import { aContact, aMediaFile, aPhone, aWorkspace, noon } from "../World.ts"

export const contacts: Topic = (it) => {
  it.effect("contacts are kept as given and paged newest first", () =>
    Effect.gen(function* () {
      const store = yield* ContactStore
      const workspace = yield* aWorkspace()
      const given = {
        workspaceId: workspace.id,
        name: "Ана 🌻",
        phone: aPhone(),
        username: null,
        createdAt: noon,
      }
      const first = yield* store.insert(given)
      assert.deepStrictEqual(first, { ...given, id: first.id })
      const second = yield* aContact(workspace.id, { username: "@someone" })
      yield* aContact((yield* aWorkspace()).id)
      const third = yield* aContact(workspace.id)
      const page = yield* store.list(workspace.id, { before: null, limit: 2 })
      assert.deepStrictEqual(page, { items: [third, second], next: second.id })
      assert.deepStrictEqual(yield* store.list(workspace.id, { before: page.next, limit: 2 }), {
        items: [first],
        next: null,
      })
    }),
  )

  it.effect("a contact is deleted once, and by its own workspace", () =>
    Effect.gen(function* () {
      const store = yield* ContactStore
      const contact = yield* aContact((yield* aWorkspace()).id)
      const other = yield* aWorkspace()
      assert.isFalse(yield* store.delete(other.id, contact.id))
      assert.isFalse(yield* store.delete(contact.workspaceId, 999_999_999 as ContactId))
      assert.isTrue(yield* store.delete(contact.workspaceId, contact.id))
      assert.isFalse(yield* store.delete(contact.workspaceId, contact.id))
      assert.deepStrictEqual(yield* store.list(contact.workspaceId, { before: null, limit: 5 }), {
        items: [],
        next: null,
      })
    }),
  )
}

export const media: Topic = (it) => {
  it.effect("a file's record is kept as given, for its workspace and mode alone", () =>
    Effect.gen(function* () {
      const store = yield* MediaStore
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
      const file = yield* store.insert(given)
      assert.deepStrictEqual(file, { ...given, id: file.id })
      assert.deepStrictEqual(yield* store.get(workspace.id, "test", file.id), file)
      assert.isNull(yield* store.get(workspace.id, "live", file.id))
      assert.isNull(yield* store.get((yield* aWorkspace()).id, "test", file.id))
      assert.isNull(yield* store.get(workspace.id, "test", 999_999_999 as MediaId))
      const image = yield* aMediaFile(workspace.id)
      assert.deepStrictEqual(yield* store.get(workspace.id, "live", image.id), image)
    }),
  )
}
