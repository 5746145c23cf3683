/** The number checks of a workspace, and a form for another one. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { NumberCheck } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { PagedAnswer } from "../ui/PagedAnswer.tsx"
import { Button, Empty, PageHead } from "../ui/parts.tsx"
import { Cell, Row, Table } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { toTrail } from "../ui/trail.ts"
import { NewCheck } from "./NewCheck.tsx"
import { checksWords as words, checkStateWords } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/number-checks")

const pollMillis = 2000

const columns = [
  { name: words.name },
  { name: words.state },
  { name: words.found, right: true },
  { name: words.made, wide: true, right: true },
] as const

export const ChecksPage = () => {
  const { workspaceId } = route.useParams()
  const id = Number(workspaceId)
  const { trail = [] } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/number-checks" })
  const [isAdding, setAdding] = useState(false)
  const checks = useQuery({
    ...asked("GET /admin/v1/workspaces/{id}/number-checks", {
      path: { id },
      query: { limit: 50, cursor: trail.at(-1) },
    }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status !== "completed") ? pollMillis : false,
  })
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        <Button look="primary" onClick={() => setAdding(true)}>
          {words.add}
        </Button>
      </PageHead>
      <PagedAnswer query={checks} trail={trail} go={(to) => void navigate({ search: toTrail(to) })}>
        {(data) => <Checks checks={data} workspaceId={workspaceId} />}
      </PagedAnswer>
      {isAdding && <NewCheck id={id} close={() => setAdding(false)} />}
    </main>
  )
}

const Checks = ({
  checks,
  workspaceId,
}: {
  checks: ReadonlyArray<NumberCheck>
  workspaceId: string
}) =>
  checks.length === 0 ? (
    <div className="card">
      <Empty icon="check" title={words.empty}>
        {words.emptyAbout}
      </Empty>
    </div>
  ) : (
    <Table caption={words.caption} columns={columns}>
      {checks.map((check) => (
        <Row key={check.id}>
          <Cell>
            <Link
              to="/w/$workspaceId/number-checks/$checkId"
              params={{ workspaceId, checkId: String(check.id) }}
              className="font-medium after:absolute after:inset-0"
            >
              {check.name ?? words.unnamed(check.id)}
            </Link>
          </Cell>
          <Cell>
            {check.status === "processing"
              ? words.of(check.checked, check.total)
              : checkStateWords[check.status]}
          </Cell>
          <Cell right>
            <span className="tabular-nums">{words.of(check.registered, check.total)}</span>
          </Cell>
          <Cell wide right>
            <When at={check.created_at} />
          </Cell>
        </Row>
      ))}
    </Table>
  )
