/** One reminder: change, pause, run at once, delete, and what its runs did. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Reminder, ReminderRun } from "@messaging-service/client"
import { operationQuery, call, newKey, useCall } from "../api/call.ts"
import type { Attachment } from "../media/Attach.tsx"
import { Preview } from "../messages/Preview.tsx"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall } from "../ui/Dialog.tsx"
import { useList } from "../ui/list.ts"
import { Button, Fact, Failure, PageHead, Section, backLink } from "../ui/parts.tsx"
import { PagedTable, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { notify } from "../ui/Toast.tsx"
import { PlanNote, ReminderFields } from "./ReminderFields.tsx"
import { changeRequest, toText } from "./reminderForm.ts"
import { RunTime } from "./RunTime.tsx"
import { describeCron } from "./schedule.ts"
import { outcomeLabels, reminderLabels as labels, runsLabels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/reminders/$reminderId")

interface ReminderPath {
  readonly id: number
  readonly reminder_id: number
}

export const ReminderPage = () => {
  const { reminderId, workspaceId } = route.useParams()
  const path = { id: Number(workspaceId), reminder_id: Number(reminderId) }
  const { session } = useRouteContext({ from: "/inside" })
  const reminder = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/reminders/{reminder_id}", { path }),
  )
  const mayChange = session.role !== "member"
  return (
    <main className="page gap-6">
      <PageHead
        title={reminder.data?.name ?? labels.unnamed(path.reminder_id)}
        about={reminder.data && <State reminder={reminder.data} />}
      >
        <Link className={backLink} to="/w/$workspaceId/reminders" params={{ workspaceId }}>
          {labels.all}
        </Link>
        {mayChange && reminder.data && <Actions path={path} reminder={reminder.data} />}
      </PageHead>
      <PlanNote id={path.id} />
      <Answer query={reminder}>
        {(data) =>
          mayChange ? (
            <Change key={data.id} path={path} reminder={data} />
          ) : (
            <Facts reminder={data} />
          )
        }
      </Answer>
      <Runs path={path} />
    </main>
  )
}

const State = ({ reminder: { active } }: { reminder: Reminder }) => (
  <span className={active ? "" : "text-violet"}>{active ? labels.isActive : labels.isPaused}</span>
)

/** For those who may only look. */
const Facts = ({ reminder }: { reminder: Reminder }) => (
  <div className="card flex flex-col gap-4 p-5">
    <dl className="grid grid-cols-1 gap-4 sm:grid-cols-2">
      <Fact name={labels.to}>{toText(reminder.to)}</Fact>
      <Fact name={labels.schedule}>
        {describeCron(reminder.schedule.cron) ?? reminder.schedule.cron}
      </Fact>
      <Fact name={labels.zone}>{reminder.schedule.timezone}</Fact>
      <Fact name={labels.next}>
        {reminder.next_run_at === null ? labels.isPaused : <RunTime local={reminder.next_run_at} />}
      </Fact>
    </dl>
    <Preview text={reminder.text} empty="" />
  </div>
)

const Change = ({ path, reminder }: { path: ReminderPath; reminder: Reminder }) => {
  const client = useQueryClient()
  const { error, isPending, isSuccess, mutate, reset } = useMutation({
    mutationFn: async ({ attachment, data }: { data: FormData; attachment: Attachment }) =>
      call("PATCH /admin/v1/workspaces/{id}/reminders/{reminder_id}", {
        path,
        body: await changeRequest({ data, attachment, workspaceId: path.id }, reminder),
      }),
    onSettled: () => void client.invalidateQueries(),
  })
  return (
    <>
      <ReminderFields
        id={path.id}
        reminder={reminder}
        isBusy={isPending}
        error={error}
        submit={(data, attachment) => mutate({ data, attachment })}
        changed={reset}
      />
      <p role="status" className="mt-2 text-sm text-accent empty:hidden">
        {isSuccess && labels.saved}
      </p>
    </>
  )
}

const Actions = ({ path, reminder }: { path: ReminderPath; reminder: Reminder }) => {
  const navigate = useNavigate()
  const [isRemoving, setRemoving] = useState(false)
  const [key, setKey] = useState(newKey)
  const change = useCall("PATCH /admin/v1/workspaces/{id}/reminders/{reminder_id}")
  const run = useCall("POST /admin/v1/workspaces/{id}/reminders/{reminder_id}/run", () =>
    setKey(newKey()),
  )
  const error = change.error ?? run.error
  const set = (active: boolean) => change.mutate({ path, body: { active } })
  const pause = () =>
    change.mutate(
      { path, body: { active: false } },
      { onSuccess: () => notify(labels.pausedNow, () => set(true)) },
    )
  return (
    <>
      {error && <Failure error={error} />}
      <span role="status" className="text-sm text-accent">
        {run.isSuccess && labels.ran}
      </span>
      <Button variant="danger" onClick={() => setRemoving(true)}>
        {labels.remove}
      </Button>
      <Button busy={change.isPending} onClick={() => (reminder.active ? pause() : set(true))}>
        {reminder.active ? labels.pause : labels.resume}
      </Button>
      <Button busy={run.isPending} onClick={() => run.mutate({ path, idempotencyKey: key })}>
        {labels.run}
      </Button>
      {isRemoving && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/reminders/{reminder_id}"
          input={{ path }}
          done={() =>
            navigate({ to: "/w/$workspaceId/reminders", params: { workspaceId: String(path.id) } })
          }
          title={labels.removeTitle(reminder.name)}
          action={labels.remove}
          close={() => setRemoving(false)}
        >
          {labels.removeAbout}
        </ConfirmCall>
      )}
    </>
  )
}

const toColumns = (workspaceId: string): Columns<ReminderRun> => [
  { name: runsLabels.due, cell: (run) => <When at={run.due_at} how="clock" /> },
  {
    name: runsLabels.outcome,
    cell: ({ outcome }) => (
      <span className={outcome === "accepted" ? "text-accent" : "text-red"}>
        {outcomeLabels[outcome]}
      </span>
    ),
  },
  {
    name: runsLabels.message,
    cell: ({ message_id: message }) =>
      message !== null && (
        <Link
          to="/w/$workspaceId/messages"
          params={{ workspaceId }}
          search={{ open: message }}
          className="text-accent hover:underline"
        >
          {runsLabels.openMessage(message)}
        </Link>
      ),
  },
  { name: runsLabels.why, wide: true, tone: mono, cell: ({ code }) => code },
]

/** What each run of a reminder did. */
const Runs = ({ path }: { path: { readonly id: number; readonly reminder_id: number } }) => (
  <Section title={runsLabels.title} about={runsLabels.about}>
    <PagedTable
      list={useList("GET /admin/v1/workspaces/{id}/reminders/{reminder_id}/runs", {
        path,
        query: { limit: 25 },
      })}
      caption={runsLabels.caption}
      columns={toColumns(String(path.id))}
      empty={["clock", runsLabels.empty, runsLabels.emptyAbout]}
    />
  </Section>
)
