/** One endpoint: why it is stopped and how to start it, and every attempt, with a way to send an event again. */
import { useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Delivery, Webhook } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { PagedAnswer } from "../ui/Answer.tsx"
import { useList } from "../ui/list.ts"
import { Button, Failure, PageHead, backLink } from "../ui/parts.tsx"
import { RowButton, Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { resultColumns } from "./AttemptResult.tsx"
import { attemptNumbers } from "./attempts.ts"
import { DeliveryDialog } from "./DeliveryDialog.tsx"
import type { WebhookPath } from "./EndpointFields.tsx"
import { RecoverEvents } from "./RecoverEvents.tsx"
import { toReceiverName } from "./receiverUrl.ts"
import { WebhookActions } from "./WebhookActions.tsx"
import { WebhookState } from "./WebhookState.tsx"
import { logLabels as labels, recoverLabels, stoppedLabels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/webhooks/$webhookId")

export const WebhookPage = () => {
  const { webhookId, workspaceId } = route.useParams()
  const { failed } = route.useSearch()
  const path = { id: Number(workspaceId), webhook_id: Number(webhookId) }
  const { session } = useRouteContext({ from: "/inside" })
  // A member sees no bodies, and changes nothing.
  const mayChange = session.role !== "member"
  const webhooks = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/webhooks", { path: { id: path.id } }),
  )
  const log = useList("GET /admin/v1/workspaces/{id}/webhooks/{webhook_id}/deliveries", {
    path,
    query: { failed: failed ? "true" : undefined },
  })
  const attempts = log.query.data?.data
  const webhook = webhooks.data?.data.find(({ id }) => id === path.webhook_id)
  return (
    <main className="page gap-4">
      <PageHead title={labels.title(path.webhook_id)}>
        <Link className={backLink} to="/w/$workspaceId/webhooks" params={{ workspaceId }}>
          {labels.all}
        </Link>
      </PageHead>
      {webhook && <About webhook={webhook} path={path} mayChange={mayChange} />}
      <div className="flex flex-wrap items-center gap-3">
        <Which path={path} failed={failed === true} />
        {mayChange && webhook?.active && (
          <Missed
            path={path}
            message={failed === true && attempts?.length !== 0}
            firstFailure={findFirstFailure(attempts ?? [])}
          />
        )}
      </div>
      <PagedAnswer list={log} rows={8}>
        {(data) => (
          <Log attempts={data} path={path} mayChange={mayChange} isFiltered={failed === true} />
        )}
      </PagedAnswer>
    </main>
  )
}

/** All attempts, or only those that failed. */
const Which = ({ failed, path }: { path: WebhookPath; failed: boolean }) => (
  <nav aria-label={labels.which} className="flex rounded-md bg-sunken p-0.5">
    {[false, true].map((onlyFailed) => (
      <Link
        key={String(onlyFailed)}
        to="/w/$workspaceId/webhooks/$webhookId"
        params={{ workspaceId: String(path.id), webhookId: String(path.webhook_id) }}
        search={onlyFailed ? { failed: true } : {}}
        activeOptions={{ exact: true, includeSearch: true }}
        data-on={onlyFailed === failed}
        className="flex h-7 items-center rounded px-2.5 text-xs text-soft hover:text-ink data-[on=true]:bg-raised data-[on=true]:font-medium data-[on=true]:text-ink data-[on=true]:shadow-card"
      >
        {onlyFailed ? labels.onlyFailed : labels.allAttempts}
      </Link>
    ))}
  </nav>
)

/** Delivers again what failed, from where the shown failures begin. */
const Missed = ({
  firstFailure,
  path,
  message,
}: {
  path: WebhookPath
  /** Next to failed attempts only: what the button does. */
  message: boolean
  firstFailure: number | null
}) => {
  const [isAsking, setIsConfirming] = useState(false)
  return (
    <>
      {message && <p className="min-w-0 text-sm text-soft">{labels.missed}</p>}
      <Button className="ml-auto" onClick={() => setIsConfirming(true)}>
        {recoverLabels.title}
      </Button>
      {isAsking && (
        <RecoverEvents
          path={path}
          firstFailure={firstFailure}
          close={() => setIsConfirming(false)}
        />
      )}
    </>
  )
}

const findFirstFailure = (attempts: ReadonlyArray<Delivery>): number | null => {
  const failed = attempts.filter(({ error }) => error !== null)
  if (failed.length === 0) return null
  return Math.min(...failed.map(({ attempted_at: at }) => Date.parse(at)))
}

const About = ({
  mayChange,
  path,
  webhook,
}: {
  webhook: Webhook
  path: WebhookPath
  mayChange: boolean
}) => {
  const resume = useCall("POST /admin/v1/workspaces/{id}/webhooks/{webhook_id}/resume")
  const { session } = useRouteContext({ from: "/inside" })
  const receiver = toReceiverName(webhook.url)
  return (
    <section className="card flex flex-col gap-3 p-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <WebhookState webhook={webhook} />
        <p className="min-w-0 font-mono text-sm break-all">{webhook.url}</p>
        <p className="text-xs text-soft">{labels.secret(webhook.secret_last4)}</p>
        {receiver !== null && session.kind === "operator" && session.simulated && (
          <Link
            className="text-sm font-medium text-accent underline"
            to="/w/$workspaceId/emulator"
            params={{ workspaceId: String(path.id) }}
            search={{ receiver }}
            // The page scrolls to the receiver by itself.
            resetScroll={false}
          >
            {labels.receiver}
          </Link>
        )}
      </div>
      <p className="text-xs break-words text-soft">{labels.events(webhook.events)}</p>
      {webhook.disabled_reason !== null && (
        <p className="flex flex-wrap items-center gap-3 rounded-md bg-red-wash px-3 py-2 text-sm text-red">
          <span className="mr-auto">{stoppedLabels[webhook.disabled_reason]}</span>
          {mayChange && (
            <Button busy={resume.isPending} onClick={() => resume.mutate({ path })}>
              {labels.resume}
            </Button>
          )}
        </p>
      )}
      {resume.error && <Failure error={resume.error} />}
      {mayChange && <WebhookActions path={path} webhook={webhook} />}
    </section>
  )
}

const getColumns = (
  mayChange: boolean,
  show: (attempt: Delivery) => void,
  redeliver: (attempt: Delivery) => void,
): Columns<Delivery> => [
  {
    name: labels.event,
    cell: ({ attempt, event_id: event, type }) => (
      <>
        <span className="font-medium">{type}</span>
        <p className="truncate text-2xs text-faint">
          {labels.findAttempt(attempt)} <span className="font-mono max-lg:hidden">{event}</span>
        </p>
      </>
    ),
  },
  ...resultColumns,
  {
    name: labels.actions,
    right: true,
    silent: true,
    cell: (one) =>
      mayChange && (
        <>
          <RowButton
            aria-label={labels.showAttempt(one.event_id, one.attempt)}
            onClick={() => show(one)}
          >
            {labels.show}
          </RowButton>
          {one.type !== "ping" && (
            <RowButton
              aria-label={labels.redeliverEvent(one.event_id)}
              onClick={() => redeliver(one)}
              // A narrow row has no room for it: what "Show" opens has it too.
              className="max-md:hidden"
            >
              {labels.redeliver}
            </RowButton>
          )}
        </>
      ),
  },
]

const Log = ({
  attempts,
  isFiltered,
  mayChange,
  path,
}: {
  attempts: ReadonlyArray<Delivery>
  path: WebhookPath
  mayChange: boolean
  isFiltered: boolean
}) => {
  const [visible, setVisible] = useState<Delivery | null>(null)
  const call = useCall("POST /admin/v1/workspaces/{id}/webhooks/{webhook_id}/redeliver")
  const redeliver = ({ event_id }: Delivery) => call.mutate({ path, body: { event_id } })
  return (
    <div className="flex flex-col gap-3">
      {call.error && <Failure error={call.error} />}
      <p role="status" className="text-sm text-soft empty:hidden">
        {call.data && labels.queued(call.data.type)}
      </p>
      <Table
        caption={labels.caption}
        columns={getColumns(mayChange, setVisible, redeliver)}
        rows={countedOn(attempts)}
        empty={
          isFiltered
            ? ["tick", labels.noneFailed, labels.noneFailedAbout]
            : ["hook", labels.empty, labels.emptyAbout]
        }
      />
      {visible && (
        <DeliveryDialog
          attempt={visible}
          path={path}
          redeliver={() => redeliver(visible)}
          close={() => setVisible(null)}
        />
      )}
    </div>
  )
}

/** Attempts, the newest first, each as the how-manieth at its event. */
const countedOn = (attempts: ReadonlyArray<Delivery>): ReadonlyArray<Delivery> => {
  const numbers = attemptNumbers(attempts.toReversed()).toReversed()
  return attempts.map((one, index) => ({ ...one, attempt: numbers[index] ?? one.attempt }))
}
