/** The workspaces with messages that a restored store holds. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { asked } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { PageHead } from "../ui/parts.tsx"
import { Table, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { shellWords } from "../ui/words.ts"
import { heldWords as words } from "./words.ts"

interface HeldOf {
  readonly id: number
  readonly name: string
  readonly messages: number
  readonly reminders: number
}

const columns: Columns<HeldOf> = [
  {
    name: words.workspace,
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
  { name: words.messages, right: true, cell: ({ messages }) => messages.toLocaleString() },
  { name: words.reminders, right: true, cell: ({ reminders }) => reminders.toLocaleString() },
]

export const HeldPage = () => {
  const held = useQuery(asked("GET /admin/v1/held", {}))
  const workspaces = useQuery(asked("GET /admin/v1/workspaces", { query: { limit: 100 } }))
  const nameOf = (id: number) =>
    workspaces.data?.data.find((workspace) => workspace.id === id)?.name ??
    shellWords.workspaceId(id)
  return (
    <main className="flex max-w-4xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} />
      <p className="max-w-[70ch] text-soft">{words.about}</p>
      <Answer query={held}>
        {({ data }) => (
          <Table
            caption={words.caption}
            columns={columns}
            rows={data.map(({ workspace_id: id, ...one }) => ({ ...one, id, name: nameOf(id) }))}
            empty={["tick", words.none, words.noneAbout]}
          />
        )}
      </Answer>
    </main>
  )
}
