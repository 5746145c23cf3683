/** What each run of a reminder did. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import type { ReminderRun } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { PagedAnswer } from "../ui/PagedAnswer.tsx"
import { Empty } from "../ui/parts.tsx"
import { Section } from "../ui/Section.tsx"
import { Cell, Row, Table } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { toTrail } from "../ui/trail.ts"
import { outcomeWords, runsWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/reminders/$reminderId")

const columns = [
  { name: words.due },
  { name: words.outcome },
  { name: words.message },
  { name: words.why, wide: true },
] as const

export const Runs = ({ path }: { path: { readonly id: number; readonly reminder_id: number } }) => {
  const { trail = [] } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/reminders/$reminderId" })
  const runs = useQuery({
    ...asked("GET /admin/v1/workspaces/{id}/reminders/{reminder_id}/runs", {
      path,
      query: { limit: 25, cursor: trail.at(-1) },
    }),
    placeholderData: keepPreviousData,
  })
  return (
    <Section title={words.title} about={words.about}>
      <PagedAnswer query={runs} trail={trail} go={(to) => void navigate({ search: toTrail(to) })}>
        {(data) => <Log runs={data} workspaceId={String(path.id)} />}
      </PagedAnswer>
    </Section>
  )
}

const Log = ({ runs, workspaceId }: { runs: ReadonlyArray<ReminderRun>; workspaceId: string }) =>
  runs.length === 0 ? (
    <div className="card">
      <Empty icon="clock" title={words.empty}>
        {words.emptyAbout}
      </Empty>
    </div>
  ) : (
    <Table caption={words.caption} columns={columns}>
      {runs.map(({ code, due_at: due, id, message_id: message, outcome }) => (
        <Row key={id}>
          <Cell>
            <When at={due} how="clock" />
          </Cell>
          <Cell>
            <span className={outcome === "accepted" ? "text-accent" : "text-red"}>
              {outcomeWords[outcome]}
            </span>
          </Cell>
          <Cell>
            {message !== null && (
              <Link
                to="/w/$workspaceId/messages"
                params={{ workspaceId }}
                search={{ open: message }}
                className="text-accent hover:underline"
              >
                {words.openMessage(message)}
              </Link>
            )}
          </Cell>
          <Cell wide>
            <span className="font-mono text-xs">{code}</span>
          </Cell>
        </Row>
      ))}
    </Table>
  )
