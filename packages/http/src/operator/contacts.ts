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
import { examples } from "../openapi/examples.ts"
import {
  DeletedJson,
  asCommand,
  bodyOf,
  deleted,
  json,
  pageOf,
  query,
  shownPage,
} from "../route/Entry.ts"
import { operatorRoute, workspacePath } from "./OperatorRoute.ts"

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

const route = operatorRoute("Contacts")

export const contactRoutes = Effect.gen(function* () {
  const contacts = yield* Contacts

  return [
    route(`POST ${workspacePath}/contacts`, {
      id: "createContact",
      summary: "Save a contact",
      request: json(ContactBody, { name: "Ada", phone: "+15550001234" }, asCommand<CreateContact>),
      status: 201,
      success: "The contact.",
      answer: bodyOf(ContactJson, examples.contact),
      refused: ["invalid_phone", "invalid_username"],
      handler: ({ id, request, role }) =>
        Effect.map(contacts.create(role, id("id"), request), contactJson),
    }),
    route(`GET ${workspacePath}/contacts`, {
      id: "listContacts",
      summary: "List contacts",
      about: "Newest first.",
      request: query(PageInput, asCommand<ListPage>),
      success: "A page of contacts.",
      answer: pageOf(ContactJson, examples.contact),
      handler: ({ id, request, role }) =>
        Effect.map(contacts.list(role, id("id"), request), shownPage(contactJson)),
    }),
    route(`DELETE ${workspacePath}/contacts/{contact_id}`, {
      id: "deleteContact",
      summary: "Delete a contact",
      success: "It is gone.",
      answer: bodyOf(DeletedJson, deleted(6)),
      refused: [{ code: "contact_not_found", inPath: true }],
      handler: ({ id, role }) =>
        Effect.map(contacts.delete(role, id("id"), id("contact_id")), deleted),
    }),
  ]
})
