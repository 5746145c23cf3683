/** The saved contacts of a workspace (contract: Contacts). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { TimeJson } from "../answer/Json.ts"
import type { DeletedJson } from "../answer/Json.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { ContactId, WorkspaceId } from "../id/Ids.ts"
import { parsePhone, phoneDescribed } from "../recipient/Phone.ts"
import { parseUsername, usernameDescribed } from "../recipient/Username.ts"
import { Cursors } from "../request/Cursor.ts"
import { described } from "../request/Described.ts"
import { inputDecoder, parsed, textBetween } from "../request/Input.ts"
import type { JsonPage } from "../request/Page.ts"
import { parsePageRequest } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { formatInstant } from "../time/Instant.ts"
import { requireRole } from "../workspace/Role.ts"
import type { Role } from "../workspace/Role.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { ContactStore } from "./Contact.ts"
import type { Contact } from "./Contact.ts"

export const ContactBody = Schema.Struct({
  name: textBetween(1, 100),
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

const decodeBody = inputDecoder(ContactBody, ["name", "phone", "username"])

/** The Contact object. */
export const ContactJson = Schema.Struct({
  id: Schema.Int.pipe(Schema.brand("ContactId")),
  name: Schema.String,
  phone: described(Schema.NullOr(Schema.String), "E.164 with a leading +."),
  username: described(Schema.NullOr(Schema.String), "As it was given."),
  created_at: TimeJson,
}).annotate({ identifier: "Contact" })

export type ContactJson = typeof ContactJson.Type

export const contactJson = (contact: Contact): ContactJson => ({
  id: contact.id,
  name: contact.name,
  phone: contact.phone,
  username: contact.username,
  created_at: formatInstant(contact.createdAt),
})

type Failure = Refusal | StoreUnavailable

export class Contacts extends Context.Service<
  Contacts,
  {
    /** POST /workspaces/{id}/contacts. */
    create(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      body: unknown,
    ): Effect.Effect<ContactJson, Failure>
    /** GET /workspaces/{id}/contacts: newest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      query: QueryEntries,
    ): Effect.Effect<JsonPage<ContactJson>, Failure>
    /** DELETE. Fails with `contact_not_found`. */
    delete(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: ContactId | undefined,
    ): Effect.Effect<DeletedJson, Failure>
  }
>()("core/Contacts") {
  static readonly layer = Layer.effect(
    Contacts,
    Effect.gen(function* () {
      const store = yield* ContactStore
      const workspaces = yield* Workspaces
      const cursors = yield* Cursors

      return Contacts.of({
        create: Effect.fn("Contacts.create")(function* (role, workspaceId, body) {
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "contacts")
          const input = yield* Effect.fromResult(decodeBody(body))
          return contactJson(
            yield* store.insert({
              workspaceId: workspace.id,
              name: input.name,
              phone: input.phone ?? null,
              username: input.username?.given ?? null,
              createdAt: yield* Clock.currentTimeMillis,
            }),
          )
        }),
        list: Effect.fn("Contacts.list")(function* (role, workspaceId, query) {
          const request = yield* Effect.fromResult(parsePageRequest(query))
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "contacts")
          const binding = ["contacts", workspace.id]
          const before = yield* cursors.read(request.cursor, binding)
          const page = yield* store.list(workspace.id, { before, limit: request.limit })
          return {
            data: page.items.map(contactJson),
            next_cursor: cursors.make(page.next, binding),
          }
        }),
        delete: Effect.fn("Contacts.delete")(function* (role, workspaceId, id) {
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "contacts")
          if (id === undefined || !(yield* store.delete(workspace.id, id))) {
            return yield* refuse("contact_not_found", { inPath: true })
          }
          return { id, deleted: true as const }
        }),
      })
    }),
  )
}
