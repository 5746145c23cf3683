/** The workspaces with messages that a restored store holds. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { asked } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Empty, PageHead } from "../ui/parts.tsx"
import { Cell, Row, Table } from "../ui/Table.tsx"
import { shellWords } from "../ui/words.ts"
import { heldWords as words } from "./words.ts"

const columns = [
  { name: words.workspace },
  { name: words.messages, right: true },
  { name: words.reminders, right: true },
] as const

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
        {({ data }) =>
          data.length === 0 ? (
            <div className="card">
              <Empty icon="tick" title={words.none}>
                {words.noneAbout}
              </Empty>
            </div>
          ) : (
            <Table caption={words.caption} columns={columns}>
              {data.map(({ messages, reminders, workspace_id: id }) => (
                <Row key={id}>
                  <Cell>
                    <Link
                      to="/service/held/$workspaceId"
                      params={{ workspaceId: String(id) }}
                      className="font-medium after:absolute after:inset-0 hover:underline"
                    >
                      {nameOf(id)}
                    </Link>
                  </Cell>
                  <Cell right>{messages.toLocaleString()}</Cell>
                  <Cell right>{reminders.toLocaleString()}</Cell>
                </Row>
              ))}
            </Table>
          )
        }
      </Answer>
    </main>
  )
}
