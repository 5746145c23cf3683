/** Saved contacts. */
import { ContactStore, pageOf } from "@messaging-service/core"
import type { Contact, ContactId, Phone, WorkspaceId } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, idBefore, instant, integer, text } from "../database/parameters.ts"

interface ContactRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly name: string
  readonly phone: string | null
  readonly username: string | null
  readonly created_at: Date
}

const insertContact = `
insert into contacts (workspace_id, name, phone, username, created_at)
values ($1, $2, $3, $4, $5)
returning id`

// Index contacts_by_workspace.
const listContacts = `
select c.*
from contacts c
where c.workspace_id = $1
  and c.id < $2
order by c.id desc
limit $3`

const deleteContact = `
delete from contacts c
where c.id = $2
  and c.workspace_id = $1
returning c.id`

export const layerContacts = Layer.effect(
  ContactStore,
  Effect.gen(function* () {
    const database = yield* Database
    return ContactStore.of({
      insert: (contact) =>
        Effect.map(
          database.query<{ readonly id: bigint }>("contact.insert", insertContact, [
            bigint(contact.workspaceId),
            text(contact.name),
            text(contact.phone),
            text(contact.username),
            instant(contact.createdAt),
          ]),
          (rows) => ({ ...contact, id: Number(rows[0]?.id) as ContactId }),
        ),
      list: (workspaceId, { before, limit }) =>
        Effect.map(
          database.list<ContactRow>(workspaceId, "contact.list", listContacts, [
            bigint(workspaceId),
            idBefore(before),
            integer(limit + 1),
          ]),
          (rows) => pageOf(rows.map(toContact), limit),
        ),
      delete: (workspaceId, id) =>
        Effect.map(
          database.query("contact.delete", deleteContact, [bigint(workspaceId), bigint(id)]),
          (rows) => rows.length > 0,
        ),
    })
  }),
)

const toContact = (row: ContactRow): Contact => ({
  id: Number(row.id) as ContactId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  name: row.name,
  phone: row.phone as Phone | null,
  username: row.username,
  createdAt: row.created_at.getTime(),
})
