/** The reminders of a workspace: to whom, when, and how the last run ended. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import type { Reminder } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { PagedAnswer } from "../ui/PagedAnswer.tsx"
import { Empty, PageHead } from "../ui/parts.tsx"
import { Cell, Row, Table } from "../ui/Table.tsx"
import { toTrail } from "../ui/trail.ts"
import { toText } from "./reminderForm.ts"
import { zonedTime } from "./schedule.ts"
import { outcomeWords, remindersWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/reminders")

const columns = [
  { name: words.name },
  { name: words.to, wide: true },
  { name: words.schedule, wide: true },
  { name: words.next },
  { name: words.last, wide: true, right: true },
] as const

export const RemindersPage = () => {
  const { workspaceId } = route.useParams()
  const { trail = [] } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/reminders" })
  const { session } = useRouteContext({ from: "/inside" })
  const reminders = useQuery({
    ...asked("GET /admin/v1/workspaces/{id}/reminders", {
      path: { id: Number(workspaceId) },
      query: { limit: 50, cursor: trail.at(-1) },
    }),
    placeholderData: keepPreviousData,
  })
  return (
    <main className="flex max-w-6xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        {session.role !== "member" && (
          <Link
            to="/w/$workspaceId/reminders/new"
            params={{ workspaceId }}
            className="control border-accent bg-accent font-medium text-on-accent hover:opacity-90"
          >
            {words.add}
          </Link>
        )}
      </PageHead>
      <PagedAnswer
        query={reminders}
        trail={trail}
        go={(to) => void navigate({ search: toTrail(to) })}
      >
        {(data) => (
          <Reminders
            reminders={data}
            workspaceId={workspaceId}
            mayChange={session.role !== "member"}
          />
        )}
      </PagedAnswer>
    </main>
  )
}

const Reminders = ({
  mayChange,
  reminders,
  workspaceId,
}: {
  reminders: ReadonlyArray<Reminder>
  mayChange: boolean
  workspaceId: string
}) =>
  reminders.length === 0 ? (
    <div className="card">
      <Empty icon="bell" title={words.empty}>
        {words.emptyAbout} {!mayChange && words.othersMake}
      </Empty>
    </div>
  ) : (
    <Table caption={words.caption} columns={columns}>
      {reminders.map((reminder) => (
        <Row key={reminder.id}>
          <Cell>
            <Link
              to="/w/$workspaceId/reminders/$reminderId"
              params={{ workspaceId, reminderId: String(reminder.id) }}
              className="font-medium after:absolute after:inset-0"
            >
              {reminder.name}
            </Link>
          </Cell>
          <Cell wide>
            <span className="font-mono text-xs">{toText(reminder.to)}</span>
          </Cell>
          <Cell wide>
            <span className="font-mono text-xs">{reminder.schedule.cron}</span>{" "}
            <span className="text-xs text-soft">{reminder.schedule.timezone}</span>
          </Cell>
          <Cell>
            {reminder.next_run_at === null ? (
              <span className="text-violet">{words.paused}</span>
            ) : (
              <span className="whitespace-normal tabular-nums">
                {zonedTime(reminder.next_run_at)}
              </span>
            )}
          </Cell>
          <Cell wide right>
            <LastRun run={reminder.last_run} />
          </Cell>
        </Row>
      ))}
    </Table>
  )

const LastRun = ({ run }: { run: Reminder["last_run"] }) =>
  run === null ? (
    <span className="text-faint">{words.never}</span>
  ) : (
    <span
      title={run.error?.message}
      className={run.outcome === "accepted" ? "text-accent" : "text-red"}
    >
      {outcomeWords[run.outcome]}
    </span>
  )
