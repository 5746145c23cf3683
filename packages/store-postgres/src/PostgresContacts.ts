/** Saved contacts. */
import type { Contact, ContactId, ContactStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "./database/Database.ts"
import {
  bigint,
  columnsOf,
  decoded,
  newestFirst,
  paging,
  instant,
  selected,
  text,
  without,
} from "./database/Fields.ts"
import type { FieldsOf } from "./database/Fields.ts"
import { given, single, statement } from "./database/Statement.ts"

const contactFields = {
  id: { id: bigint((contact) => contact.id) },
  workspaceId: { workspace_id: bigint((contact) => contact.workspaceId) },
  name: { name: text((contact) => contact.name) },
  phone: { phone: text((contact) => contact.phone) },
  username: { username: text((contact) => contact.username) },
  createdAt: { created_at: instant((contact) => contact.createdAt) },
} satisfies FieldsOf<Contact>

const columns = columnsOf(contactFields)
const toContact = decoded<Contact>(contactFields)

const made = single(without(columns, "id"))

const insertContact = statement("contact.insert", made)`
insert into contacts (${made.names})
values (${made.placeholders})
returning id`

// Index contacts_by_workspace.
const listContacts = statement("contact.list", given({ workspaceId: bigint, ...paging }))`
select ${selected(columns, "c")}
from contacts c
where c.workspace_id = $workspaceId
  and ${newestFirst("c")}`

const deleteContact = statement("contact.delete", given({ workspaceId: bigint, id: bigint }))`
delete from contacts c
where c.id = $id
  and c.workspace_id = $workspaceId
returning c.id`

export const contactStore = (database: DatabaseService): typeof ContactStore.Service => ({
  insert: (contact) =>
    Effect.map(insertContact.value<bigint>(database, contact), (id) => ({
      ...contact,
      id: Number(id) as ContactId,
    })),
  list: (workspaceId, page) =>
    listContacts.page(database, workspaceId, { ...page, workspaceId }, toContact),
  delete: (workspaceId, id) => deleteContact.any(database, { workspaceId, id }),
})
