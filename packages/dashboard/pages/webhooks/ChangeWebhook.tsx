/** Changes an endpoint's address, events and description. Its secret stays. */
import type { FormEvent } from "react"
import type { Webhook } from "@messaging-service/client"
import { useCall } from "../api/useCall.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { FormEnd } from "../ui/forms.tsx"
import { EndpointFields, endpointFields, endpointOf } from "./EndpointFields.tsx"
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
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    change.mutate({ path, body: endpointOf(new FormData(event.currentTarget)) })
  }
  return (
    <Dialog title={words.change} close={close}>
      <form className="flex flex-col gap-4" onSubmit={submit}>
        <EndpointFields webhook={webhook} error={change.error} />
        <p className="text-xs text-soft">{words.changeAbout}</p>
        <FormEnd
          action={words.save}
          busy={change.isPending}
          error={change.error}
          fields={endpointFields}
          close={close}
        />
      </form>
    </Dialog>
  )
}
