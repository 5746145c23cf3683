/** Contacts of a workspace (contract: Contacts). */
import {
  ContactBody,
  ContactJson,
  Contacts,
  DeletedJson,
  PageInput,
  pageJson,
} from "@messaging-service/core"
import { Effect } from "effect"
import { examples, pageOf } from "../openapi/examples.ts"
import { asGiven, json, query } from "../route/Entry.ts"
import { operatorRoute, workspacePath } from "./OperatorRoute.ts"

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
      request: json(ContactBody, { name: "Ada", phone: "+15550001234" }, asGiven),
      status: 201,
      success: "The contact.",
      answer: ContactJson,
      example: examples.contact,
      refused: ["workspace_not_found", "role_required", "invalid_phone", "invalid_username"],
      handler: ({ id, request, role }) => contacts.create(role, id("id"), request),
    }),
    operatorRoute({
      method: "GET",
      path: `${workspacePath}/contacts`,
      id: "listContacts",
      tag,
      summary: "List contacts",
      about: "Newest first.",
      request: query(PageInput, asGiven),
      success: "A page of contacts.",
      answer: pageJson(ContactJson),
      example: pageOf(examples.contact),
      refused: ["workspace_not_found", "role_required"],
      handler: ({ id, request, role }) => contacts.list(role, id("id"), request),
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
      handler: ({ id, role }) => contacts.delete(role, id("id"), id("contact_id")),
    }),
  ]
})
