/** Contacts of a workspace (contract: Contacts). */
import {
  ContactBody,
  Contacts,
  IdJson,
  PageInput,
  TimeJson,
  described,
  formatInstant,
} from "@messaging-service/core"
import type { Contact, CreateContact, ListPage } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples, pageOf } from "../openapi/examples.ts"
import {
  DeletedJson,
  asCommand,
  byName,
  deleted,
  json,
  pageJson,
  query,
  shownPage,
} from "../route/Entry.ts"
import { operatorRoute, workspacePath } from "./OperatorRoute.ts"

/** The Contact object. */
const ContactJson = Schema.Struct({
  id: IdJson,
  name: Schema.String,
  phone: described(Schema.NullOr(Schema.String), "E.164 with a leading +."),
  username: described(Schema.NullOr(Schema.String), "As it was given."),
  created_at: TimeJson,
}).annotate({ identifier: "Contact" })

const contactJson = ({ createdAt, id, name, phone, username }: Contact) => ({
  id,
  name,
  phone,
  username,
  created_at: formatInstant(createdAt),
})

const tag = "Contacts"

export const contactRoutes = Effect.gen(function* () {
  const contacts = yield* Contacts

  return [
    operatorRoute({
      method: "POST",
      path: `${workspacePath}/contacts`,
      id: "createContact",
      tag,
      summary: "Save a contact",
      request: json(ContactBody, { name: "Ada", phone: "+15550001234" }, asCommand<CreateContact>),
      status: 201,
      success: "The contact.",
      answer: ContactJson,
      example: examples.contact,
      refused: ["workspace_not_found", "role_required", "invalid_phone", "invalid_username"],
      handler: ({ id, request, role }) =>
        Effect.map(contacts.create(role, id("id"), request), contactJson),
    }),
    operatorRoute({
      method: "GET",
      path: `${workspacePath}/contacts`,
      id: "listContacts",
      tag,
      summary: "List contacts",
      about: "Newest first.",
      request: query(PageInput, byName<ListPage>),
      success: "A page of contacts.",
      answer: pageJson(ContactJson),
      example: pageOf(examples.contact),
      refused: ["workspace_not_found", "role_required"],
      handler: ({ id, request, role }) =>
        Effect.map(contacts.list(role, id("id"), request), shownPage(contactJson)),
    }),
    operatorRoute({
      method: "DELETE",
      path: `${workspacePath}/contacts/{contact_id}`,
      id: "deleteContact",
      tag,
      summary: "Delete a contact",
      success: "It is gone.",
      answer: DeletedJson,
      example: { id: 6, deleted: true },
      refused: [
        "workspace_not_found",
        "role_required",
        { code: "contact_not_found", inPath: true },
      ],
      handler: ({ id, role }) =>
        Effect.map(contacts.delete(role, id("id"), id("contact_id")), deleted),
    }),
  ]
})
