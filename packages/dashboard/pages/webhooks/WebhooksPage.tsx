/** The webhook endpoints of a workspace, each with its state and its last delivery. */
import { useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Webhook } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Button, Empty, PageHead } from "../ui/parts.tsx"
import { Cell, Row, Table } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { NewWebhook } from "./NewWebhook.tsx"
import { WebhookState } from "./WebhookState.tsx"
import { callbacksWords, newWebhookWords, webhooksWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/webhooks")

const columns = [
  { name: words.endpoint },
  { name: words.events, wide: true },
  { name: words.state },
  { name: words.last, wide: true, right: true },
] as const

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
        {({ data }) =>
          data.length === 0 ? (
            <div className="card">
              <Empty icon="hook" title={words.empty}>
                {words.emptyAbout}
              </Empty>
            </div>
          ) : (
            <Table caption={words.caption} columns={columns}>
              {data.map((webhook) => (
                <WebhookRow key={webhook.id} webhook={webhook} workspaceId={workspaceId} />
              ))}
            </Table>
          )
        }
      </Answer>
      {isAdding && <NewWebhook id={Number(workspaceId)} close={() => setAdding(false)} />}
    </main>
  )
}

const WebhookRow = ({ webhook, workspaceId }: { webhook: Webhook; workspaceId: string }) => (
  <Row>
    <Cell>
      <Link
        to="/w/$workspaceId/webhooks/$webhookId"
        params={{ workspaceId, webhookId: String(webhook.id) }}
        className="font-mono text-xs font-medium after:absolute after:inset-0 hover:underline"
      >
        {webhook.url}
      </Link>
      {webhook.description !== "" && (
        <p className="truncate text-xs text-soft">{webhook.description}</p>
      )}
    </Cell>
    <Cell wide>
      <span className="text-soft">
        {webhook.events.map((event) => event.replace("message.", "")).join(", ")}
      </span>
    </Cell>
    <Cell>
      <WebhookState webhook={webhook} />
    </Cell>
    <Cell wide right>
      {webhook.last_delivery === null ? (
        <span className="text-soft">{words.none}</span>
      ) : (
        <span className={webhook.last_delivery.error === null ? "" : "text-red"}>
          {webhook.last_delivery.status} <When at={webhook.last_delivery.attempted_at} />
        </span>
      )}
    </Cell>
  </Row>
)
