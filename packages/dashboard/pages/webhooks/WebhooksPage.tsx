/** The webhook endpoints of a workspace, each with its state and its last delivery. */
import { useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Webhook } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { Button, PageHead, Secret } from "../ui/parts.tsx"
import { Table, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { endpointFields, toEndpoint } from "./EndpointFields.tsx"
import { WebhookState } from "./WebhookState.tsx"
import { newWebhookLabels } from "./endpointWords.ts"
import { callbacksLabels, webhooksLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/webhooks")

const toColumns = (workspaceId: string): Columns<Webhook> => [
  {
    name: labels.endpoint,
    cell: ({ description, id, url }) => (
      <>
        <Link
          to="/w/$workspaceId/webhooks/$webhookId"
          params={{ workspaceId, webhookId: String(id) }}
          className={`${rowLink} font-mono text-xs hover:underline max-md:break-all max-md:whitespace-normal`}
        >
          {url}
        </Link>
        {description !== "" && <p className="truncate text-xs text-soft">{description}</p>}
      </>
    ),
  },
  {
    name: labels.events,
    wide: true,
    tone: "text-soft",
    cell: ({ events }) => events.map((event) => event.replace("message.", "")).join(", "),
  },
  { name: labels.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    name: labels.last,
    wide: true,
    right: true,
    cell: ({ last_delivery: last }) =>
      last === null ? (
        <span className="text-soft">{labels.none}</span>
      ) : (
        <span className={last.error === null ? "" : "text-red"}>
          {last.status} · <When at={last.attempted_at} />
        </span>
      ),
  },
]

export const WebhooksPage = () => {
  const { workspaceId } = route.useParams()
  const { session } = useRouteContext({ from: "/inside" })
  const [isAdding, setAdding] = useState(false)
  const webhooks = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/webhooks", { path: { id: Number(workspaceId) } }),
  )
  const add = session.role !== "member" && (
    <Button variant="primary" onClick={() => setAdding(true)}>
      {newWebhookLabels.title}
    </Button>
  )
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about}>
        <Link className="control" to="/w/$workspaceId/webhooks/callbacks" params={{ workspaceId }}>
          {callbacksLabels.title}
        </Link>
        {add}
      </PageHead>
      <Answer query={webhooks}>
        {({ data }) => (
          <Table
            caption={labels.caption}
            columns={toColumns(workspaceId)}
            rows={data}
            empty={["hook", labels.empty, labels.emptyAbout, add]}
          />
        )}
      </Answer>
      {isAdding && (
        <NewWebhook
          id={Number(workspaceId)}
          hasReceivers={session.kind === "operator" && session.simulated}
          close={() => setAdding(false)}
        />
      )}
    </main>
  )
}

/** Adds an endpoint, and shows the secret of its signatures once. */
const NewWebhook = ({
  close,
  hasReceivers,
  id,
}: {
  id: number
  /** Whether the emulator answers addresses of its own. */
  hasReceivers: boolean
  close: () => void
}) => {
  const [url, change] = useState("")
  const add = useCall("POST /admin/v1/workspaces/{id}/webhooks")
  if (add.data !== undefined)
    return (
      <DoneDialog title={newWebhookLabels.title} close={close}>
        {"secret" in add.data ? (
          <Secret
            label={newWebhookLabels.secret}
            text={add.data.secret}
            about={newWebhookLabels.secretAbout}
          />
        ) : (
          <p>{newWebhookLabels.known}</p>
        )}
      </DoneDialog>
    )
  return (
    <FormDialog
      title={newWebhookLabels.title}
      action={newWebhookLabels.action}
      call={add}
      submit={(data) => add.mutate({ path: { id }, body: toEndpoint(data) })}
      close={close}
      fields={endpointFields(id, undefined, hasReceivers ? { url, change } : undefined)}
    />
  )
}
