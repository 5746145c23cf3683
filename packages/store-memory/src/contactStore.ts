/** `ContactStore` in memory. */
import type { ContactStore } from "@messaging-service/core"
import { Effect } from "effect"
import { newestFirst } from "./collections.ts"
import { contactOf } from "./tables.ts"
import type { Steps } from "./collections.ts"
import type { Tables } from "./tables.ts"

export const contactStore = (tables: Tables): Steps<typeof ContactStore.Service> => ({
  insert: (given) => {
    const owner = tables.workspaces.get(given.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a contact needs a workspace"))
    const contact = tables.contacts.insert((id) => ({ ...given, id }))
    owner.contacts.push(contact)
    if (contact.phone !== null) {
      const sharing = owner.contactsByPhone.get(contact.phone) ?? []
      owner.contactsByPhone.set(contact.phone, [...sharing, contact.id])
    }
    return contact
  },

  list: (workspaceId, query) =>
    newestFirst(tables.workspaces.get(workspaceId)?.contacts ?? [], query, (contact) => contact),

  delete: (workspaceId, id) => {
    const owner = tables.workspaces.get(workspaceId)
    const contact = owner === undefined ? undefined : contactOf(owner, id)
    if (owner === undefined || contact === undefined) return false
    owner.contacts.splice(owner.contacts.indexOf(contact), 1)
    if (contact.phone !== null) {
      const sharing = owner.contactsByPhone.get(contact.phone) ?? []
      owner.contactsByPhone.set(
        contact.phone,
        sharing.filter((other) => other !== id),
      )
    }
    return true
  },
})
