/** The contacts of a workspace: a name for a phone or a username. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { FormEvent } from "react"
import type { Contact } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { useCall } from "../api/useCall.ts"
import { Confirm, Dialog } from "../ui/Dialog.tsx"
import { FormEnd, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { PagedAnswer } from "../ui/PagedAnswer.tsx"
import { toTrail } from "../ui/trail.ts"
import { Button, Empty, PageHead } from "../ui/parts.tsx"
import { Cell, Row, Table, rowButton } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { contactsWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/contacts")

const columns = [
  { name: words.name },
  { name: words.address },
  { name: words.made, wide: true, right: true },
  { name: words.actions, right: true, silent: true },
] as const

export const ContactsPage = () => {
  const id = Number(route.useParams().workspaceId)
  const { trail = [] } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/contacts" })
  const { session } = useRouteContext({ from: "/inside" })
  const mayChange = session.role !== "member"
  const contacts = useQuery({
    ...asked("GET /admin/v1/workspaces/{id}/contacts", {
      path: { id },
      query: { limit: 50, cursor: trail.at(-1) },
    }),
    placeholderData: keepPreviousData,
  })
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
      <PagedAnswer
        query={contacts}
        trail={trail}
        go={(to) => void navigate({ search: toTrail(to) })}
      >
        {(data) => <Contacts contacts={data} remove={mayChange ? setRemoving : null} />}
      </PagedAnswer>
      {isAdding && <AddContact id={id} close={() => setAdding(false)} />}
      {removing !== null && (
        <RemoveContact id={id} contact={removing} close={() => setRemoving(null)} />
      )}
    </main>
  )
}

const Contacts = ({
  contacts,
  remove,
}: {
  contacts: ReadonlyArray<Contact>
  /** Null for those who may only look. */
  remove: ((contact: Contact) => void) | null
}) =>
  contacts.length === 0 ? (
    <div className="card">
      <Empty icon="people" title={words.empty}>
        {words.emptyAbout} {remove === null && words.othersAdd}
      </Empty>
    </div>
  ) : (
    <Table caption={words.caption} columns={columns}>
      {contacts.map((contact) => (
        <Row key={contact.id}>
          <Cell>
            <span className="font-medium">{contact.name}</span>
          </Cell>
          <Cell>
            <span className="font-mono text-xs">{contact.phone ?? contact.username}</span>
          </Cell>
          <Cell wide right>
            <When at={contact.created_at} />
          </Cell>
          <Cell right>
            {remove !== null && (
              <button
                type="button"
                aria-label={words.removeNamed(contact.name)}
                onClick={() => remove(contact)}
                className={rowButton}
              >
                {words.remove}
              </button>
            )}
          </Cell>
        </Row>
      ))}
    </Table>
  )

const AddContact = ({ close, id }: { id: number; close: () => void }) => {
  const add = useCall("POST /admin/v1/workspaces/{id}/contacts", close)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const name = textOf(data, "name")
    const address = textOf(data, "address")
    const body = /^[\d+]/.test(address) ? { name, phone: address } : { name, username: address }
    add.mutate({ path: { id }, body })
  }
  const problem = fieldProblem(add.error, "phone") ?? fieldProblem(add.error, "username")
  return (
    <Dialog title={words.add} close={close}>
      <form className="flex flex-col gap-4" onSubmit={submit}>
        <TextField
          name="name"
          label={words.name}
          problem={fieldProblem(add.error, "name")}
          required
          maxLength={100}
          autoFocus
        />
        <TextField
          name="address"
          label={words.address}
          about={words.addressAbout}
          problem={problem}
          required
          placeholder={words.example}
        />
        <FormEnd
          action={words.add}
          busy={add.isPending}
          error={add.error}
          fields={["name", "phone", "username"]}
          close={close}
        />
      </form>
    </Dialog>
  )
}

const RemoveContact = ({
  close,
  contact,
  id,
}: {
  id: number
  contact: Contact
  close: () => void
}) => {
  const remove = useCall("DELETE /admin/v1/workspaces/{id}/contacts/{contact_id}", close)
  return (
    <Confirm
      title={words.removeTitle(contact.name)}
      action={words.remove}
      busy={remove.isPending}
      error={remove.error}
      act={() => remove.mutate({ path: { id, contact_id: contact.id } })}
      close={close}
    >
      {words.removeAbout}
    </Confirm>
  )
}
