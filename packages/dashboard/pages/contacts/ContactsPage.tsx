/** The contacts of a workspace: a name for a phone or a username. */
import { getRouteApi, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Contact } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { ConfirmCall, FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import { useList } from "../ui/list.ts"
import { Button, PageHead } from "../ui/parts.tsx"
import { PagedTable, RowButton, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { contactsLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/contacts")

const columns: Columns<Contact> = [
  { name: labels.name, tone: "font-medium", cell: ({ name }) => name },
  { name: labels.address, tone: mono, cell: ({ phone, username }) => phone ?? username },
  { name: labels.made, wide: true, right: true, cell: (one) => <When at={one.created_at} /> },
]

/** Null for those who may only look. */
const actions = (remove: ((contact: Contact) => void) | null): Columns<Contact> => [
  {
    name: labels.actions,
    right: true,
    silent: true,
    cell: (contact) =>
      remove !== null && (
        <RowButton aria-label={labels.removeNamed(contact.name)} onClick={() => remove(contact)}>
          {labels.remove}
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
      <PageHead title={labels.title} about={labels.about}>
        {mayChange && (
          <Button variant="primary" onClick={() => setAdding(true)}>
            {labels.add}
          </Button>
        )}
      </PageHead>
      <PagedTable
        list={contacts}
        caption={labels.caption}
        columns={[...columns, ...actions(mayChange ? setRemoving : null)]}
        empty={[
          "people",
          labels.empty,
          <>
            {labels.emptyAbout} {!mayChange && labels.othersAdd}
          </>,
        ]}
      />
      {isAdding && <AddContact id={id} close={() => setAdding(false)} />}
      {removing !== null && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/contacts/{contact_id}"
          input={{ path: { id, contact_id: removing.id } }}
          title={labels.removeTitle(removing.name)}
          action={labels.remove}
          close={() => setRemoving(null)}
        >
          {labels.removeAbout}
        </ConfirmCall>
      )}
    </main>
  )
}

const AddContact = ({ close, id }: { id: number; close: () => void }) => {
  const add = useCall("POST /admin/v1/workspaces/{id}/contacts", close)
  const submit = (data: FormData) => {
    const name = formText(data, "name")
    const address = formText(data, "address")
    const body = /^[\d+]/.test(address) ? { name, phone: address } : { name, username: address }
    add.mutate({ path: { id }, body })
  }
  return (
    <FormDialog
      title={labels.add}
      action={labels.add}
      call={add}
      submit={submit}
      close={close}
      fields={[
        { name: "name", label: labels.name, required: true, maxLength: 100, autoFocus: true },
        {
          name: "address",
          shows: ["phone", "username"],
          label: labels.address,
          about: labels.addressAbout,
          required: true,
          placeholder: labels.example,
        },
      ]}
    />
  )
}
