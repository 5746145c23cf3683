/** One attempt: what was sent, and the beginning of what the receiver answered. Both are shown as text only. */
import { useQuery } from "@tanstack/react-query"
import type { Delivery } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Button } from "../ui/parts.tsx"
import { dialogLabels } from "../ui/words.ts"
import { Body } from "./Body.tsx"
import type { WebhookPath } from "./EndpointFields.tsx"
import { answerLabels, bodyLabels as labels, logLabels } from "./words.ts"

export const DeliveryDialog = ({
  attempt,
  close,
  path,
  redeliver,
}: {
  attempt: Delivery
  path: WebhookPath
  redeliver: () => void
  close: () => void
}) => {
  const delivery = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/webhooks/{webhook_id}/deliveries/{delivery_id}", {
      path: { ...path, delivery_id: attempt.id },
    }),
  )
  return (
    <Dialog title={labels.title(attempt.type, attempt.attempt)} close={close}>
      <Answer query={delivery} rows={4}>
        {({ request_body: sent, response_body: answered }) => (
          <div className="flex min-w-0 flex-col gap-4">
            <Body label={labels.sent} none={labels.erased} text={sent} />
            <Body
              label={labels.answered(answerLabels(attempt.error, attempt.response_status))}
              none={answered === "" ? labels.empty : labels.nothing}
              text={answered}
            />
          </div>
        )}
      </Answer>
      <div className="flex justify-end gap-2">
        {attempt.type !== "ping" && (
          <Button
            onClick={() => {
              redeliver()
              close()
            }}
          >
            {logLabels.redeliver}
          </Button>
        )}
        <Button variant="primary" onClick={close}>
          {dialogLabels.done}
        </Button>
      </div>
    </Dialog>
  )
}
