/** The operator's first page: every workspace. */
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Workspace } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { FormDialog } from "../ui/Dialog.tsx"
import { textOf } from "../ui/forms.tsx"
import { toTrail, useList } from "../ui/list.ts"
import { Pager } from "../ui/Pager.tsx"
import { Button, PageHead } from "../ui/parts.tsx"
import { Table, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { newWorkspaceWords, workspacesWords as words } from "./words.ts"

const route = getRouteApi("/inside/workspaces")

const columns: Columns<Workspace> = [
  {
    name: words.name,
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
    name: words.plan,
    cell: ({ plan }) => plan?.name ?? <span className="text-amber">{words.noPlan}</span>,
  },
  {
    name: words.state,
    wide: true,
    cell: ({ account_disabled: isDisabled, demo }) =>
      isDisabled ? (
        <span className="text-red">{words.disabled}</span>
      ) : demo ? (
        words.demo
      ) : (
        words.active
      ),
  },
  { name: words.made, wide: true, right: true, cell: (one) => <When at={one.created_at} /> },
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
  const [isMaking, setMaking] = useState(false)
  const look = (text: string) =>
    void navigate({
      search: { ...toTrail(trail), ...(text === "" ? {} : { find: text }) },
      replace: true,
    })
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        <input
          type="search"
          aria-label={words.find}
          placeholder={words.find}
          value={find}
          onChange={(event) => look(event.target.value)}
          className="control w-48 justify-start border-line"
        />
        <Button look="primary" onClick={() => setMaking(true)}>
          {newWorkspaceWords.title}
        </Button>
      </PageHead>
      <Answer query={workspaces}>
        {({ data, next_cursor: next }) => {
          const found = data.filter(({ name }) => name.toLowerCase().includes(find.toLowerCase()))
          return (
            <div className="flex flex-col gap-4">
              <Table
                caption={words.title}
                columns={columns}
                rows={found}
                empty={
                  data.length > 0
                    ? ["search", words.notFound, words.fewerLetters]
                    : ["grid", words.emptyTitle, words.empty]
                }
              />
              {(next !== null || trail.length > 0) && (
                <Pager
                  trail={trail}
                  shown={found.length}
                  isFetching={workspaces.isFetching}
                  next={next}
                  go={go}
                />
              )}
            </div>
          )
        }}
      </Answer>
      {isMaking && <NewWorkspace close={() => setMaking(false)} />}
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
      title={newWorkspaceWords.title}
      action={newWorkspaceWords.action}
      call={make}
      submit={(data) => make.mutate({ body: { name: textOf(data, "name") } })}
      close={close}
      fields={[
        {
          name: "name",
          label: newWorkspaceWords.name,
          about: newWorkspaceWords.about,
          required: true,
          maxLength: 100,
          autoFocus: true,
        },
      ]}
    />
  )
}
