/** Changes an endpoint's address, events and description. Its secret stays. */
import type { Webhook } from "@messaging-service/client"
import { useCall } from "../api/useCall.ts"
import { FormDialog } from "../ui/Dialog.tsx"
import { endpointFields, endpointOf } from "./EndpointFields.tsx"
import { webhookActionWords as words } from "./words.ts"
import type { WebhookPath } from "./WebhookPath.ts"

export const ChangeWebhook = ({
  close,
  path,
  webhook,
}: {
  path: WebhookPath
  webhook: Webhook
  close: () => void
}) => {
  const change = useCall("PATCH /admin/v1/workspaces/{id}/webhooks/{webhook_id}", close)
  return (
    <FormDialog
      title={words.change}
      action={words.save}
      call={change}
      submit={(data) => change.mutate({ path, body: endpointOf(data) })}
      close={close}
      fields={endpointFields(webhook)}
    >
      <p className="text-xs text-soft">{words.changeAbout}</p>
    </FormDialog>
  )
}
