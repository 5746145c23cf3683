/** The contacts of a workspace: a name for a phone or a username. */
import { getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Contact } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall, FormDialog } from "../ui/Dialog.tsx"
import { Find } from "../ui/filters.tsx"
import { formText } from "../ui/forms.tsx"
import { useKeys } from "../ui/keys.ts"
import { useList } from "../ui/list.ts"
import { Button, PageHead } from "../ui/parts.tsx"
import { PagedTable, RowButton, Table, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { ImportContacts } from "./ImportContacts.tsx"
import { toBody } from "./newContact.ts"
import { searchContacts, useAllContacts } from "./searchContacts.ts"
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

type Over = "add" | "import" | null

export const ContactsPage = () => {
  const id = Number(route.useParams().workspaceId)
  const { find } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/contacts" })
  const { session } = useRouteContext({ from: "/inside" })
  const mayChange = session.role !== "member"
  const [over, setOver] = useState<Over>(null)
  const [removing, setRemoving] = useState<Contact | null>(null)
  const close = () => setOver(null)
  const search = (next: string | undefined) =>
    void navigate({ search: next === undefined ? {} : { find: next } })
  useKeys({ "/": () => document.getElementById("find")?.focus() })
  const listProps = {
    caption: labels.caption,
    columns: [...columns, ...actions(mayChange ? setRemoving : null)],
  }
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about}>
        {mayChange && (
          <>
            <Button onClick={() => setOver("import")}>{labels.import}</Button>
            <Button variant="primary" onClick={() => setOver("add")}>
              {labels.add}
            </Button>
          </>
        )}
      </PageHead>
      <search>
        <Find
          key={find}
          className="w-80 max-md:w-full"
          label={labels.find}
          example={labels.findExample}
          find={find}
          setFind={search}
        />
      </search>
      {find === undefined ? (
        <All {...listProps} id={id} mayChange={mayChange} open={setOver} />
      ) : (
        <Found {...listProps} id={id} find={find} clear={() => search(undefined)} />
      )}
      {over === "add" && <AddContact id={id} close={close} />}
      {over === "import" && <ImportContacts id={id} close={close} />}
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

interface ListProps {
  readonly id: number
  readonly caption: string
  readonly columns: Columns<Contact>
}

const All = ({
  id,
  mayChange,
  open,
  ...listProps
}: ListProps & { mayChange: boolean; open: (over: Over) => void }) => (
  <PagedTable
    {...listProps}
    list={useList("GET /admin/v1/workspaces/{id}/contacts", { path: { id } })}
    empty={[
      "people",
      labels.empty,
      <>
        {labels.emptyAbout} {!mayChange && labels.othersAdd}
      </>,
      mayChange && (
        <>
          <Button onClick={() => open("import")}>{labels.import}</Button>
          <Button variant="primary" onClick={() => open("add")}>
            {labels.add}
          </Button>
        </>
      ),
    ]}
  />
)

const Found = ({
  clear,
  find,
  id,
  ...listProps
}: ListProps & { find: string; clear: () => void }) => (
  <Answer query={useAllContacts(id)}>
    {({ contacts, isWhole }) => {
      const found = searchContacts(contacts, find)
      return (
        <div className="flex flex-col gap-2">
          <Table
            {...listProps}
            rows={found}
            empty={[
              "search",
              labels.nothingFound,
              labels.fewerLetters,
              <Button key="clear" onClick={clear}>
                {labels.clear}
              </Button>,
            ]}
          />
          <p role="status" className="text-xs text-soft tabular-nums">
            {labels.found(found.length)} {!isWhole && labels.notAll}
          </p>
        </div>
      )
    }}
  </Answer>
)

const AddContact = ({ close, id }: { id: number; close: () => void }) => {
  const add = useCall("POST /admin/v1/workspaces/{id}/contacts", close)
  const submit = (data: FormData) => {
    const typed = { name: formText(data, "name"), address: formText(data, "address") }
    add.mutate({ path: { id }, body: toBody(typed) })
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
