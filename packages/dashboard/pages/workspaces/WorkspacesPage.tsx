/** The operator's first page: every workspace. */
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Workspace } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import { toTrail, useList } from "../ui/list.ts"
import { Pager } from "../ui/Pager.tsx"
import { Button, PageHead } from "../ui/parts.tsx"
import { Table, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { newWorkspaceLabels, workspacesLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/workspaces")

const columns: Columns<Workspace> = [
  {
    name: labels.name,
    cell: ({ id, name }) => (
      <>
        <Link
          className={`${rowLink} hover:underline`}
          to="/w/$workspaceId"
          params={{ workspaceId: String(id) }}
        >
          {name}
        </Link>
        <span className="ml-2 font-mono text-xs text-faint">{id}</span>
      </>
    ),
  },
  {
    name: labels.plan,
    cell: ({ plan }) => plan?.name ?? <span className="text-amber">{labels.noPlan}</span>,
  },
  {
    name: labels.state,
    wide: true,
    cell: ({ account_disabled: isDisabled, demo }) =>
      isDisabled ? (
        <span className="text-red">{labels.disabled}</span>
      ) : demo ? (
        labels.demo
      ) : (
        labels.active
      ),
  },
  { name: labels.made, wide: true, right: true, cell: (one) => <When at={one.created_at} /> },
]

export const WorkspacesPage = () => {
  const { find = "" } = route.useSearch()
  const navigate = useNavigate({ from: "/workspaces" })
  const {
    go,
    query: workspaces,
    trail,
  } = useList("GET /admin/v1/workspaces", {
    query: { limit: 100 },
  })
  const [isMaking, setIsCreating] = useState(false)
  const tone = (text: string) =>
    void navigate({
      search: { ...toTrail(trail), ...(text === "" ? {} : { find: text }) },
      replace: true,
    })
  const add = (
    <Button variant="primary" onClick={() => setIsCreating(true)}>
      {newWorkspaceLabels.title}
    </Button>
  )
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about}>
        <input
          type="search"
          aria-label={labels.find}
          placeholder={labels.find}
          value={find}
          onChange={(event) => tone(event.target.value)}
          className="control w-48 justify-start border-line"
        />
        {add}
      </PageHead>
      <Answer query={workspaces}>
        {({ data, next_cursor: next }) => {
          const found = data.filter(({ name }) => name.toLowerCase().includes(find.toLowerCase()))
          return (
            <div className="flex flex-col gap-4">
              <Table
                caption={labels.title}
                columns={columns}
                rows={found}
                empty={
                  data.length > 0
                    ? ["search", labels.notFound, labels.fewerLetters]
                    : ["grid", labels.emptyTitle, labels.empty, add]
                }
              />
              {(next !== null || trail.length > 0) && (
                <Pager
                  trail={trail}
                  visible={found.length}
                  isFetching={workspaces.isFetching}
                  next={next}
                  go={go}
                />
              )}
            </div>
          )
        }}
      </Answer>
      {isMaking && <NewWorkspace close={() => setIsCreating(false)} />}
    </main>
  )
}

/** Makes a workspace for a customer, and goes there. */
const NewWorkspace = ({ close }: { close: () => void }) => {
  const navigate = useNavigate()
  const make = useCall("POST /admin/v1/workspaces", ({ id }) =>
    navigate({ to: "/w/$workspaceId", params: { workspaceId: String(id) } }),
  )
  return (
    <FormDialog
      title={newWorkspaceLabels.title}
      action={newWorkspaceLabels.action}
      call={make}
      submit={(data) => make.mutate({ body: { name: formText(data, "name") } })}
      close={close}
      fields={[
        {
          name: "name",
          label: newWorkspaceLabels.name,
          about: newWorkspaceLabels.about,
          required: true,
          maxLength: 100,
          autoFocus: true,
        },
      ]}
    />
  )
}
