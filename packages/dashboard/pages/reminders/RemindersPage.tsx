/** The reminders of a workspace: to whom, when, and how the last run ended. */
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import type { Reminder } from "@messaging-service/client"
import { useList } from "../ui/list.ts"
import { PageHead } from "../ui/parts.tsx"
import { PagedTable, mono, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { toText } from "./reminderForm.ts"
import { zonedTime } from "./schedule.ts"
import { outcomeWords, remindersWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/reminders")

const columnsOf = (workspaceId: string): Columns<Reminder> => [
  {
    name: words.name,
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
  { name: words.to, wide: true, look: mono, cell: ({ to }) => toText(to) },
  {
    name: words.schedule,
    wide: true,
    cell: ({ schedule: { cron, timezone } }) => (
      <>
        <span className={mono}>{cron}</span> <span className="text-xs text-soft">{timezone}</span>
      </>
    ),
  },
  {
    name: words.next,
    cell: ({ next_run_at: next }) =>
      next === null ? (
        <span className="text-violet">{words.paused}</span>
      ) : (
        <span className="whitespace-normal tabular-nums">{zonedTime(next)}</span>
      ),
  },
  {
    name: words.last,
    wide: true,
    right: true,
    cell: ({ last_run: run }) =>
      run === null ? (
        <span className="text-faint">{words.never}</span>
      ) : (
        <span
          title={run.error?.message}
          className={run.outcome === "accepted" ? "text-accent" : "text-red"}
        >
          {outcomeWords[run.outcome]}
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
  return (
    <main className="flex max-w-6xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        {mayChange && (
          <Link
            to="/w/$workspaceId/reminders/new"
            params={{ workspaceId }}
            className="control border-accent bg-accent font-medium text-on-accent hover:opacity-90"
          >
            {words.add}
          </Link>
        )}
      </PageHead>
      <PagedTable
        list={reminders}
        caption={words.caption}
        columns={columnsOf(workspaceId)}
        empty={[
          "bell",
          words.empty,
          <>
            {words.emptyAbout} {!mayChange && words.othersMake}
          </>,
        ]}
      />
    </main>
  )
}
