/** The contacts of a workspace: a name for a phone or a username. */
import { getRouteApi, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Contact } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { ConfirmCall, FormDialog } from "../ui/Dialog.tsx"
import { textOf } from "../ui/forms.tsx"
import { useList } from "../ui/list.ts"
import { Button, PageHead } from "../ui/parts.tsx"
import { PagedTable, RowButton, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { contactsWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/contacts")

const columns: Columns<Contact> = [
  { name: words.name, look: "font-medium", cell: ({ name }) => name },
  { name: words.address, look: mono, cell: ({ phone, username }) => phone ?? username },
  { name: words.made, wide: true, right: true, cell: (one) => <When at={one.created_at} /> },
]

/** Null for those who may only look. */
const actions = (remove: ((contact: Contact) => void) | null): Columns<Contact> => [
  {
    name: words.actions,
    right: true,
    silent: true,
    cell: (contact) =>
      remove !== null && (
        <RowButton aria-label={words.removeNamed(contact.name)} onClick={() => remove(contact)}>
          {words.remove}
        </RowButton>
      ),
  },
]

export const ContactsPage = () => {
  const id = Number(route.useParams().workspaceId)
  const { session } = useRouteContext({ from: "/inside" })
  const mayChange = session.role !== "member"
  const contacts = useList("GET /admin/v1/workspaces/{id}/contacts", { path: { id } })
  const [isAdding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Contact | null>(null)
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        {mayChange && (
          <Button look="primary" onClick={() => setAdding(true)}>
            {words.add}
          </Button>
        )}
      </PageHead>
      <PagedTable
        list={contacts}
        caption={words.caption}
        columns={[...columns, ...actions(mayChange ? setRemoving : null)]}
        empty={[
          "people",
          words.empty,
          <>
            {words.emptyAbout} {!mayChange && words.othersAdd}
          </>,
        ]}
      />
      {isAdding && <AddContact id={id} close={() => setAdding(false)} />}
      {removing !== null && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/contacts/{contact_id}"
          input={{ path: { id, contact_id: removing.id } }}
          title={words.removeTitle(removing.name)}
          action={words.remove}
          close={() => setRemoving(null)}
        >
          {words.removeAbout}
        </ConfirmCall>
      )}
    </main>
  )
}

const AddContact = ({ close, id }: { id: number; close: () => void }) => {
  const add = useCall("POST /admin/v1/workspaces/{id}/contacts", close)
  const submit = (data: FormData) => {
    const name = textOf(data, "name")
    const address = textOf(data, "address")
    const body = /^[\d+]/.test(address) ? { name, phone: address } : { name, username: address }
    add.mutate({ path: { id }, body })
  }
  return (
    <FormDialog
      title={words.add}
      action={words.add}
      call={add}
      submit={submit}
      close={close}
      fields={[
        { name: "name", label: words.name, required: true, maxLength: 100, autoFocus: true },
        {
          name: "address",
          shows: ["phone", "username"],
          label: words.address,
          about: words.addressAbout,
          required: true,
          placeholder: words.example,
        },
      ]}
    />
  )
}
