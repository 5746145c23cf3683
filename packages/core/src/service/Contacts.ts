/** Saving, listing and deleting the contacts of a workspace (contract: Contacts). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Failure } from "../model/Refusal.ts"
import type { ContactId, WorkspaceId } from "../model/Ids.ts"
import { described, inputDecoder, nameUpTo, parsed } from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import { makeCursors, parsePageRequest } from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import type { Role } from "../model/Workspace.ts"
import { Workspaces } from "./Workspaces.ts"
import { parsePhone, parseUsername, phoneDescribed, usernameDescribed } from "../model/Recipient.ts"
import type { Contact } from "../model/Recipient.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "./Workspaces.ts"

export const ContactBody = Schema.Struct({
  name: described(nameUpTo(100), "Not blank."),
  phone: Schema.optionalKey(parsed("invalid_phone", parsePhone, phoneDescribed)),
  username: Schema.optionalKey(parsed("invalid_username", parseUsername, usernameDescribed)),
})
  .check(
    Schema.makeFilter(
      (contact) =>
        (contact.phone === undefined) !== (contact.username === undefined)
          ? undefined
          : "must have exactly one of phone and username",
      { toJsonSchema: () => ({ oneOf: [{ required: ["phone"] }, { required: ["username"] }] }) },
    ),
  )
  .annotate({
    identifier: "CreateContact",
    description: "Exactly one of `phone` and `username`.",
  })

const decodeBody = inputDecoder(ContactBody, { codes: ["invalid_phone", "invalid_username"] })

/** A contact to save. */
export type CreateContact = CommandOf<typeof ContactBody.Encoded>

export class Contacts extends Context.Service<
  Contacts,
  {
    /** POST /workspaces/{id}/contacts. Fails with `contact_exists`. */
    create(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      command: CreateContact,
    ): Effect.Effect<
      Contact,
      Failure<
        | WorkspaceCode
        | "validation_failed"
        | "invalid_phone"
        | "invalid_username"
        | "contact_exists"
      >
    >
    /** GET /workspaces/{id}/contacts: newest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      query: ListPage,
    ): Effect.Effect<
      CursorPage<Contact>,
      Failure<WorkspaceCode | "validation_failed" | "invalid_cursor">
    >
    /** DELETE. Fails with `contact_not_found`. */
    delete(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: ContactId | undefined,
    ): Effect.Effect<ContactId, Failure<WorkspaceCode | "contact_not_found">>
  }
>()("core/Contacts") {
  static readonly layer = Layer.effect(
    Contacts,
    Effect.gen(function* make() {
      const store = (yield* Store).workspaces
      const workspaces = yield* Workspaces
      const cursors = yield* makeCursors

      return Contacts.of({
        create: Effect.fn("Contacts.create")(function* create(role, workspaceId, command) {
          const workspace = yield* workspaces.within(role, workspaceId, "contacts")
          const { name, phone, username } = yield* Effect.fromResult(decodeBody(command))
          const inserted = yield* store.insertContact({
            workspaceId: workspace.id,
            name,
            phone: phone ?? null,
            username: username?.text ?? null,
            createdAt: yield* Clock.currentTimeMillis,
          })
          if (inserted._tag === "Inserted") return inserted.contact
          return yield* refuse("contact_exists", {
            field: phone === undefined ? "username" : "phone",
            details: { contactId: inserted.id },
          })
        }),
        list: Effect.fn("Contacts.list")(function* list(role, workspaceId, query) {
          const request = yield* Effect.fromResult(parsePageRequest(query))
          const { id } = yield* workspaces.within(role, workspaceId, "reading")
          return yield* cursors.page(request, ["contacts", id], (page) =>
            store.listContacts(id, page),
          )
        }),
        delete: Effect.fn("Contacts.delete")(function* (role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "contacts")
          if (id === undefined || !(yield* store.deleteContact(workspace.id, id))) {
            return yield* refuse("contact_not_found", { inPath: true })
          }
          return id
        }),
      })
    }),
  )
}
