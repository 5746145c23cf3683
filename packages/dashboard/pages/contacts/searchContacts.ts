/** Finds contacts by name, phone or username. The service lists them page by page, so all of them are asked for. */
import { useQuery } from "@tanstack/react-query"
import type { Contact } from "@messaging-service/client"
import { call } from "../api/call.ts"
import { findByLabels } from "../ui/find.ts"

/** So many pages of 100 are searched. */
const pagesMax = 50

const listAll = async (id: number, signal: AbortSignal) => {
  const contacts: Array<Contact> = []
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page += 1) {
    const { data, next_cursor: next } = await call("GET /admin/v1/workspaces/{id}/contacts", {
      path: { id },
      query: { limit: 100, cursor },
      signal,
    })
    contacts.push(...data)
    if (next === null) return { contacts, isWhole: true }
    cursor = next
  }
  return { contacts, isWhole: false }
}

export const useAllContacts = (id: number) =>
  useQuery({
    queryKey: ["workspaces", id, "all contacts"],
    queryFn: ({ signal }) => listAll(id, signal),
    // Many requests: only a change on this page or a return to it asks for them again.
    refetchInterval: false,
  })

export const searchContacts = (
  contacts: ReadonlyArray<Contact>,
  find: string,
): ReadonlyArray<Contact> =>
  findByLabels(
    contacts.map((contact) => ({ ...contact, also: [contact.phone ?? contact.username ?? ""] })),
    find,
  )
