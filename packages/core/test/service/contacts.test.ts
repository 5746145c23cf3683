import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Contacts } from "../../src/index.ts"
import type { CreateContact, WorkspaceId } from "../../src/index.ts"
import { code, refusal, send } from "./Operations.ts"
import { aContact, aSender, aWorkspace, inAService, noon } from "./Service.ts"

describe("contacts", () => {
  const create = (workspace: WorkspaceId, body: CreateContact) =>
    Contacts.use((contacts) => contacts.create("owner", workspace, body))

  it.effect("have a name and exactly one of phone and username", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const jane = yield* create(workspace, { name: "Jane", phone: "+1 555-000-0001" })
        assert.deepStrictEqual<unknown>(jane, {
          id: jane.id,
          workspaceId: workspace,
          name: "Jane",
          phone: "+15550000001",
          username: null,
          createdAt: noon,
        })
        const john = yield* create(workspace, {
          name: "John",
          username: "t.me/john_doe",
        })
        assert.deepStrictEqual([john.phone, john.username], [null, "t.me/john_doe"])
        const wrong: ReadonlyArray<readonly [body: object, code: string]> = [
          [{ name: "Jane" }, "validation_failed"],
          [{ name: "Jane", phone: null, username: null }, "validation_failed"],
          [{ name: "Jane", phone: null, username: "@jane_doe" }, "validation_failed"],
          [{ name: "Jane", phone: "+15550001234", username: null }, "validation_failed"],
          [{ name: "Jane", phone: "+15550000001", username: "@jane_doe" }, "validation_failed"],
          [{ name: "", phone: "+15550000001" }, "validation_failed"],
          [{ name: "n".repeat(101), phone: "+15550000001" }, "validation_failed"],
          [{ name: "Jane", phone: "0123" }, "invalid_phone"],
          [{ name: "Jane", username: "jane" }, "invalid_username"],
        ]
        for (const [body, expected] of wrong) {
          assert.strictEqual(yield* code(create(workspace, body as CreateContact)), expected)
        }
      }),
    ),
  )

  it.effect("a deleted contact, or another workspace's, cannot be sent to", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const contact = yield* aContact(workspace, { phone: "+15550000061" })
        const theirs = yield* aContact(yield* aWorkspace(), { phone: "+15550000062" })
        yield* send(key, { to: { contactId: contact } })
        assert.strictEqual(
          yield* code(send(key, { to: { contactId: theirs } })),
          "contact_not_found",
        )
        const remove = Contacts.use((contacts) => contacts.delete("owner", workspace, contact))
        assert.strictEqual(yield* remove, contact)
        const refused = yield* refusal(remove)
        assert.deepStrictEqual([refused.code, refused.status], ["contact_not_found", 404])
        assert.strictEqual(
          yield* code(send(key, { to: { contactId: contact } })),
          "contact_not_found",
        )
      }),
    ),
  )

  it.effect("a phone shows its contact, and no other contact can have it", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const to = { phone: "+15550000061" }
        assert.deepStrictEqual<unknown>((yield* send(key, { to })).to, {
          phone: "+15550000061",
          contact_id: null,
        })
        const first = yield* aContact(workspace, to)
        const {
          code: refused,
          details,
          field,
          status,
        } = yield* refusal(create(workspace, { name: "Other", ...to }))
        assert.deepStrictEqual(
          { code: refused, details, field, status },
          { code: "contact_exists", details: { contactId: first }, field: "phone", status: 409 },
        )
        assert.deepStrictEqual<unknown>((yield* send(key, { to })).to, {
          phone: "+15550000061",
          contact_id: first,
        })
      }),
    ),
  )
})
