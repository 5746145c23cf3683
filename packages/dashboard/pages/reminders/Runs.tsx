/** What each run of a reminder did. */
import { Link } from "@tanstack/react-router"
import type { ReminderRun } from "@messaging-service/client"
import { useList } from "../ui/list.ts"
import { Empty } from "../ui/parts.tsx"
import { Section } from "../ui/Section.tsx"
import { PagedTable, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { outcomeWords, runsWords as words } from "./words.ts"

const columnsOf = (workspaceId: string): Columns<ReminderRun> => [
  { name: words.due, cell: (run) => <When at={run.due_at} how="clock" /> },
  {
    name: words.outcome,
    cell: ({ outcome }) => (
      <span className={outcome === "accepted" ? "text-accent" : "text-red"}>
        {outcomeWords[outcome]}
      </span>
    ),
  },
  {
    name: words.message,
    cell: ({ message_id: message }) =>
      message !== null && (
        <Link
          to="/w/$workspaceId/messages"
          params={{ workspaceId }}
          search={{ open: message }}
          className="text-accent hover:underline"
        >
          {words.openMessage(message)}
        </Link>
      ),
  },
  { name: words.why, wide: true, look: mono, cell: ({ code }) => code },
]

export const Runs = ({ path }: { path: { readonly id: number; readonly reminder_id: number } }) => (
  <Section title={words.title} about={words.about}>
    <PagedTable
      list={useList("GET /admin/v1/workspaces/{id}/reminders/{reminder_id}/runs", {
        path,
        query: { limit: 25 },
      })}
      caption={words.caption}
      columns={columnsOf(String(path.id))}
      empty={
        <Empty icon="clock" title={words.empty}>
          {words.emptyAbout}
        </Empty>
      }
    />
  </Section>
)
