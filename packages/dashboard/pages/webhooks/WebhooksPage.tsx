/** The webhook endpoints of a workspace, each with its state and its last delivery. */
import { useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Webhook } from "@messaging-service/client"
import { asked, useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { Button, PageHead, Secret } from "../ui/parts.tsx"
import { Table, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { endpointFields, endpointOf } from "./EndpointFields.tsx"
import { WebhookState } from "./WebhookState.tsx"
import { callbacksWords, newWebhookWords, webhooksWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/webhooks")

const columnsOf = (workspaceId: string): Columns<Webhook> => [
  {
    name: words.endpoint,
    cell: ({ description, id, url }) => (
      <>
        <Link
          to="/w/$workspaceId/webhooks/$webhookId"
          params={{ workspaceId, webhookId: String(id) }}
          className={`${rowLink} font-mono text-xs hover:underline`}
        >
          {url}
        </Link>
        {description !== "" && <p className="truncate text-xs text-soft">{description}</p>}
      </>
    ),
  },
  {
    name: words.events,
    wide: true,
    look: "text-soft",
    cell: ({ events }) => events.map((event) => event.replace("message.", "")).join(", "),
  },
  { name: words.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    name: words.last,
    wide: true,
    right: true,
    cell: ({ last_delivery: last }) =>
      last === null ? (
        <span className="text-soft">{words.none}</span>
      ) : (
        <span className={last.error === null ? "" : "text-red"}>
          {last.status} <When at={last.attempted_at} />
        </span>
      ),
  },
]

export const WebhooksPage = () => {
  const { workspaceId } = route.useParams()
  const { session } = useRouteContext({ from: "/inside" })
  const [isAdding, setAdding] = useState(false)
  const webhooks = useQuery(
    asked("GET /admin/v1/workspaces/{id}/webhooks", { path: { id: Number(workspaceId) } }),
  )
  return (
    <main className="flex max-w-6xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={words.about}>
        <Link className="control" to="/w/$workspaceId/webhooks/callbacks" params={{ workspaceId }}>
          {callbacksWords.title}
        </Link>
        {session.role !== "member" && (
          <Button look="primary" onClick={() => setAdding(true)}>
            {newWebhookWords.title}
          </Button>
        )}
      </PageHead>
      <Answer query={webhooks}>
        {({ data }) => (
          <Table
            caption={words.caption}
            columns={columnsOf(workspaceId)}
            rows={data}
            empty={["hook", words.empty, words.emptyAbout]}
          />
        )}
      </Answer>
      {isAdding && <NewWebhook id={Number(workspaceId)} close={() => setAdding(false)} />}
    </main>
  )
}

/** Adds an endpoint, and shows the secret of its signatures once. */
const NewWebhook = ({ close, id }: { id: number; close: () => void }) => {
  const add = useCall("POST /admin/v1/workspaces/{id}/webhooks")
  if (add.data !== undefined)
    return (
      <DoneDialog title={newWebhookWords.title} close={close}>
        {"secret" in add.data ? (
          <Secret label={newWebhookWords.secret} text={add.data.secret} />
        ) : (
          <p>{newWebhookWords.known}</p>
        )}
      </DoneDialog>
    )
  return (
    <FormDialog
      title={newWebhookWords.title}
      action={newWebhookWords.action}
      call={add}
      submit={(data) => add.mutate({ path: { id }, body: endpointOf(data) })}
      close={close}
      fields={endpointFields()}
    />
  )
}
