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
import { checkStateLabels, checksLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/number-checks")

const pollMillis = 2000

const toColumns = (workspaceId: string): Columns<NumberCheck> => [
  {
    name: labels.name,
    cell: ({ id, name }) => (
      <Link
        to="/w/$workspaceId/number-checks/$checkId"
        params={{ workspaceId, checkId: String(id) }}
        className={rowLink}
      >
        {name ?? labels.unnamed(id)}
      </Link>
    ),
  },
  {
    name: labels.state,
    cell: ({ checked, status, total }) =>
      status === "processing" ? labels.of(checked, total) : checkStateLabels[status],
  },
  {
    name: labels.found,
    right: true,
    tone: "tabular-nums",
    cell: ({ registered, total }) => labels.of(registered, total),
  },
  { name: labels.made, wide: true, right: true, cell: (one) => <When at={one.created_at} /> },
]

export const ChecksPage = () => {
  const { workspaceId } = route.useParams()
  const id = Number(workspaceId)
  const [isAdding, setAdding] = useState(false)
  const checks = useList("GET /admin/v1/workspaces/{id}/number-checks", { path: { id } }, (rows) =>
    rows.some(({ status }) => status !== "completed") ? pollMillis : false,
  )
  const add = (
    <Button variant="primary" onClick={() => setAdding(true)}>
      {labels.add}
    </Button>
  )
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about}>
        {add}
      </PageHead>
      <PagedTable
        list={checks}
        caption={labels.caption}
        columns={toColumns(workspaceId)}
        empty={["check", labels.empty, labels.emptyAbout, add]}
      />
      {isAdding && <NewCheck id={id} close={() => setAdding(false)} />}
    </main>
  )
}
