/** The reminders of a workspace: to whom, when, and how the last run ended. */
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import type { Reminder } from "@messaging-service/client"
import { useList } from "../ui/list.ts"
import { PageHead, primaryLink } from "../ui/parts.tsx"
import { PagedTable, mono, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { toText } from "./reminderForm.ts"
import { RunTime } from "./RunTime.tsx"
import { describeCron } from "./schedule.ts"
import { outcomeLabels, remindersLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/reminders")

const toColumns = (workspaceId: string): Columns<Reminder> => [
  {
    name: labels.name,
    cell: ({ id, name }) => (
      <Link
        to="/w/$workspaceId/reminders/$reminderId"
        params={{ workspaceId, reminderId: String(id) }}
        className={rowLink}
      >
        {name}
      </Link>
    ),
  },
  { name: labels.to, wide: true, tone: mono, cell: ({ to }) => toText(to) },
  {
    name: labels.schedule,
    wide: true,
    cell: ({ schedule: { cron, timezone } }) => (
      <>
        {describeCron(cron) ?? <span className={mono}>{cron}</span>}{" "}
        <span className="text-xs text-soft">{timezone}</span>
      </>
    ),
  },
  {
    name: labels.next,
    cell: ({ next_run_at: next }) =>
      next === null ? (
        <span className="text-violet">{labels.paused}</span>
      ) : (
        <span className="whitespace-normal">
          <RunTime local={next} />
        </span>
      ),
  },
  {
    name: labels.last,
    wide: true,
    right: true,
    cell: ({ last_run: run }) =>
      run === null ? (
        <span className="text-faint">{labels.never}</span>
      ) : (
        <span
          title={run.error?.message}
          className={run.outcome === "accepted" ? "text-accent" : "text-red"}
        >
          {outcomeLabels[run.outcome]}
        </span>
      ),
  },
]

export const RemindersPage = () => {
  const { workspaceId } = route.useParams()
  const { session } = useRouteContext({ from: "/inside" })
  const mayChange = session.role !== "member"
  const path = { id: Number(workspaceId) }
  const reminders = useList("GET /admin/v1/workspaces/{id}/reminders", { path })
  const add = mayChange && (
    <Link to="/w/$workspaceId/reminders/new" params={{ workspaceId }} className={primaryLink}>
      {labels.add}
    </Link>
  )
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about}>
        {add}
      </PageHead>
      <PagedTable
        list={reminders}
        caption={labels.caption}
        columns={toColumns(workspaceId)}
        empty={[
          "bell",
          labels.empty,
          <>
            {labels.emptyAbout} {!mayChange && labels.othersMake}
          </>,
          add,
        ]}
      />
    </main>
  )
}
