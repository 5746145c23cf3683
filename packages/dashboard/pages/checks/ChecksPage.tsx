/** The number checks of a workspace, and a form for another one. */
import { Link, getRouteApi } from "@tanstack/react-router"
import { useState } from "react"
import type { NumberCheck } from "@messaging-service/client"
import { useList } from "../ui/list.ts"
import { Button, PageHead } from "../ui/parts.tsx"
import { PagedTable, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { NewCheck } from "./NewCheck.tsx"
import { checkStateWords, checksWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/number-checks")

const pollMillis = 2000

const columnsOf = (workspaceId: string): Columns<NumberCheck> => [
  {
    name: words.name,
    cell: ({ id, name }) => (
      <Link
        to="/w/$workspaceId/number-checks/$checkId"
        params={{ workspaceId, checkId: String(id) }}
        className={rowLink}
      >
        {name ?? words.unnamed(id)}
      </Link>
    ),
  },
  {
    name: words.state,
    cell: ({ checked, status, total }) =>
      status === "processing" ? words.of(checked, total) : checkStateWords[status],
  },
  {
    name: words.found,
    right: true,
    look: "tabular-nums",
    cell: ({ registered, total }) => words.of(registered, total),
  },
  { name: words.made, wide: true, right: true, cell: (one) => <When at={one.created_at} /> },
]

export const ChecksPage = () => {
  const { workspaceId } = route.useParams()
  const id = Number(workspaceId)
  const [isAdding, setAdding] = useState(false)
  const checks = useList("GET /admin/v1/workspaces/{id}/number-checks", { path: { id } }, (rows) =>
    rows.some(({ status }) => status !== "completed") ? pollMillis : false,
  )
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        <Button look="primary" onClick={() => setAdding(true)}>
          {words.add}
        </Button>
      </PageHead>
      <PagedTable
        list={checks}
        caption={words.caption}
        columns={columnsOf(workspaceId)}
        empty={["check", words.empty, words.emptyAbout]}
      />
      {isAdding && <NewCheck id={id} close={() => setAdding(false)} />}
    </main>
  )
}
