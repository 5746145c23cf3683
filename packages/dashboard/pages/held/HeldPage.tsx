/** The workspaces with messages that a restored store holds. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { operationQuery } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { PageHead } from "../ui/parts.tsx"
import { Table, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { shellLabels } from "../ui/words.ts"
import { heldLabels as labels } from "./words.ts"

interface HeldOf {
  readonly id: number
  readonly name: string
  readonly messages: number
  readonly reminders: number
}

const columns: Columns<HeldOf> = [
  {
    name: labels.workspace,
    cell: ({ id, name }) => (
      <Link
        to="/service/held/$workspaceId"
        params={{ workspaceId: String(id) }}
        className={`${rowLink} hover:underline`}
      >
        {name}
      </Link>
    ),
  },
  { name: labels.messages, right: true, cell: ({ messages }) => messages.toLocaleString() },
  { name: labels.reminders, right: true, cell: ({ reminders }) => reminders.toLocaleString() },
]

export const HeldPage = () => {
  const held = useQuery(operationQuery("GET /admin/v1/held", {}))
  const workspaces = useQuery(operationQuery("GET /admin/v1/workspaces", { query: { limit: 100 } }))
  const toName = (id: number) =>
    workspaces.data?.data.find((workspace) => workspace.id === id)?.name ??
    shellLabels.workspaceId(id)
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} />
      <p className="max-w-[70ch] text-soft">{labels.about}</p>
      <Answer query={held}>
        {({ data }) => (
          <Table
            caption={labels.caption}
            columns={columns}
            rows={data.map(({ workspace_id: id, ...one }) => ({ ...one, id, name: toName(id) }))}
            empty={["tick", labels.none, labels.noneAbout]}
          />
        )}
      </Answer>
    </main>
  )
}
