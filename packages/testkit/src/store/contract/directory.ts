/** `ContactStore`: the recipients of messages. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ContactId } from "@messaging-service/core"
import { Effect } from "effect"
import type { Topic } from "../Topic.ts"
import { aContact, aPhone, aWorkspace, noon } from "../Records.ts"

export const contacts: Topic = (it) => {
  it.effect("contacts are kept as given and paged newest first", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const input = {
        workspaceId: workspace.id,
        name: "Ана 🌻",
        phone: aPhone(),
        username: null,
        createdAt: noon,
      }
      const first = yield* aContact(workspace.id, input)
      assert.deepStrictEqual(first, { ...input, id: first.id })
      const second = yield* aContact(workspace.id, { username: "@recipient" })
      yield* aContact((yield* aWorkspace()).id)
      const third = yield* aContact(workspace.id)
      const page = yield* store.listContacts(workspace.id, { before: null, limit: 2 })
      assert.deepStrictEqual(page, { items: [third, second], next: second.id })
      assert.deepStrictEqual(
        yield* store.listContacts(workspace.id, { before: page.next, limit: 2 }),
        {
          items: [first],
          next: null,
        },
      )
    }),
  )

  it.effect("a workspace has one contact for each phone, and for each Telegram user", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const { id } = yield* aWorkspace()
      const phone = aPhone()
      const first = yield* aContact(id, { phone })
      const named = yield* aContact(id, { username: "@Jane_Doe" })
      yield* aContact(id, { username: "tg:4711" })
      const again = { workspaceId: id, name: "Other", phone: null, username: null, createdAt: noon }
      for (const [other, known] of [
        [{ phone }, first],
        [{ username: "https://t.me/jane_doe" }, named],
      ] as const) {
        assert.deepStrictEqual(yield* store.insertContact({ ...again, ...other }), {
          _tag: "Exists",
          id: known.id,
        })
      }
      yield* store.deleteContact(id, first.id)
      assert.isAbove((yield* aContact(id, { phone })).id, first.id)
      yield* aContact((yield* aWorkspace()).id, { phone })
    }),
  )

  it.effect("a contact is deleted once, and by its own workspace", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const contact = yield* aContact((yield* aWorkspace()).id)
      const other = yield* aWorkspace()
      assert.isFalse(yield* store.deleteContact(other.id, contact.id))
      assert.isFalse(yield* store.deleteContact(contact.workspaceId, 999_999_999 as ContactId))
      assert.isTrue(yield* store.deleteContact(contact.workspaceId, contact.id))
      assert.isFalse(yield* store.deleteContact(contact.workspaceId, contact.id))
      assert.deepStrictEqual(
        yield* store.listContacts(contact.workspaceId, { before: null, limit: 5 }),
        {
          items: [],
          next: null,
        },
      )
    }),
  )
}
