/** The operator's first page: every workspace. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Workspace } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Pager } from "../ui/Pager.tsx"
import { Button, Empty, PageHead } from "../ui/parts.tsx"
import { Cell, Row, Table } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { toTrail } from "../ui/trail.ts"
import { NewWorkspace } from "./NewWorkspace.tsx"
import { newWorkspaceWords, workspacesWords as words } from "./words.ts"

const route = getRouteApi("/inside/workspaces")

const columns = [
  { name: words.name },
  { name: words.plan },
  { name: words.state, wide: true },
  { name: words.made, wide: true, right: true },
] as const

export const WorkspacesPage = () => {
  const { find = "", trail = [] } = route.useSearch()
  const navigate = useNavigate({ from: "/workspaces" })
  const workspaces = useQuery({
    ...asked("GET /admin/v1/workspaces", { query: { limit: 100, cursor: trail.at(-1) } }),
    placeholderData: keepPreviousData,
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
              {found.length === 0 ? (
                <Nothing filtered={data.length > 0} />
              ) : (
                <Table caption={words.title} columns={columns}>
                  {found.map((workspace) => (
                    <WorkspaceRow key={workspace.id} workspace={workspace} />
                  ))}
                </Table>
              )}
              {(next !== null || trail.length > 0) && (
                <Pager
                  trail={trail}
                  shown={found.length}
                  isFetching={workspaces.isFetching}
                  next={next}
                  go={(to) =>
                    void navigate({
                      search: { ...toTrail(to), ...(find === "" ? {} : { find }) },
                    })
                  }
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

const Nothing = ({ filtered }: { filtered: boolean }) => (
  <div className="card">
    <Empty icon={filtered ? "search" : "grid"} title={filtered ? words.notFound : words.emptyTitle}>
      {filtered ? words.fewerLetters : words.empty}
    </Empty>
  </div>
)

const WorkspaceRow = ({ workspace }: { workspace: Workspace }) => (
  <Row>
    <Cell>
      <Link
        className="font-medium after:absolute after:inset-0 hover:underline"
        to="/w/$workspaceId"
        params={{ workspaceId: String(workspace.id) }}
      >
        {workspace.name}
      </Link>
      <span className="ml-2 font-mono text-xs text-faint">{workspace.id}</span>
    </Cell>
    <Cell>{workspace.plan?.name ?? <span className="text-amber">{words.noPlan}</span>}</Cell>
    <Cell wide>
      {workspace.account_disabled ? (
        <span className="text-red">{words.disabled}</span>
      ) : workspace.demo ? (
        words.demo
      ) : (
        words.active
      )}
    </Cell>
    <Cell wide right>
      <When at={workspace.created_at} />
    </Cell>
  </Row>
)
