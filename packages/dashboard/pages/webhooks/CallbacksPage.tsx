/** Every attempt at a callback of version 1, to whichever address its message named. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import type { CallbackDelivery } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { PagedAnswer } from "../ui/PagedAnswer.tsx"
import { Empty, PageHead } from "../ui/parts.tsx"
import { Cell, Row, Table } from "../ui/Table.tsx"
import { toTrail } from "../ui/trail.ts"
import { AttemptResult } from "./AttemptResult.tsx"
import { callbacksWords as words, logWords } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/webhooks/callbacks")

const columns = [
  { name: logWords.event },
  { name: words.address, wide: true },
  { name: logWords.attempt, wide: true, right: true },
  { name: logWords.answer },
  { name: logWords.time, wide: true, right: true },
] as const

export const CallbacksPage = () => {
  const { workspaceId } = route.useParams()
  const { trail = [] } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/webhooks/callbacks" })
  const attempts = useQuery({
    ...asked("GET /admin/v1/workspaces/{id}/callbacks/deliveries", {
      path: { id: Number(workspaceId) },
      query: { limit: 50, cursor: trail.at(-1) },
    }),
    placeholderData: keepPreviousData,
  })
  return (
    <main className="flex max-w-6xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        <Link className="control" to="/w/$workspaceId/webhooks" params={{ workspaceId }}>
          {words.back}
        </Link>
      </PageHead>
      <PagedAnswer
        query={attempts}
        trail={trail}
        go={(to) => void navigate({ search: toTrail(to) })}
      >
        {(data) => <Log attempts={data} />}
      </PagedAnswer>
    </main>
  )
}

const Log = ({ attempts }: { attempts: ReadonlyArray<CallbackDelivery> }) =>
  attempts.length === 0 ? (
    <div className="card">
      <Empty icon="hook" title={words.empty}>
        {words.emptyAbout}
      </Empty>
    </div>
  ) : (
    <Table caption={words.caption} columns={columns}>
      {attempts.map((attempt) => (
        <Row key={attempt.id}>
          <Cell>
            <span className="font-medium">{attempt.type}</span>
          </Cell>
          <Cell wide>
            <span className="font-mono text-xs">{attempt.url}</span>
          </Cell>
          <Cell wide right>
            {attempt.attempt}
          </Cell>
          <AttemptResult attempt={attempt} />
        </Row>
      ))}
    </Table>
  )
