/** What a user can do with an endpoint: test it, change it, deliver again, replace its secret, delete it. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Webhook } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { Confirm, ConfirmCall, DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { Button, Failure, Secret } from "../ui/parts.tsx"
import { endpointFields, toEndpoint } from "./EndpointFields.tsx"
import type { WebhookPath } from "./EndpointFields.tsx"
import { webhookActionLabels as labels } from "./words.ts"

export const WebhookActions = ({ path, webhook }: { path: WebhookPath; webhook: Webhook }) => {
  const [requesting, setIsConfirming] = useState<"change" | "rotate" | "remove" | null>(null)
  const close = () => setIsConfirming(null)
  const navigate = useNavigate()
  const test = useCall("POST /admin/v1/workspaces/{id}/webhooks/{webhook_id}/test")
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button busy={test.isPending} onClick={() => test.mutate({ path })}>
        {labels.test}
      </Button>
      <Button onClick={() => setIsConfirming("change")}>{labels.change}</Button>
      <Button onClick={() => setIsConfirming("rotate")}>{labels.rotate}</Button>
      <Button variant="danger" onClick={() => setIsConfirming("remove")}>
        {labels.remove}
      </Button>
      {test.error && <Failure error={test.error} />}
      <p role="status" className="text-sm text-soft empty:hidden">
        {test.isSuccess && labels.tested}
      </p>
      {requesting === "change" && <ChangeWebhook path={path} webhook={webhook} close={close} />}
      {requesting === "rotate" && <Rotate path={path} close={close} />}
      {requesting === "remove" && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/webhooks/{webhook_id}"
          input={{ path }}
          done={() =>
            navigate({ to: "/w/$workspaceId/webhooks", params: { workspaceId: String(path.id) } })
          }
          title={labels.removeTitle}
          action={labels.remove}
          close={close}
        >
          {labels.removeAbout}
        </ConfirmCall>
      )}
    </div>
  )
}

const Rotate = ({ close, path }: { path: WebhookPath; close: () => void }) => {
  const rotate = useCall("POST /admin/v1/workspaces/{id}/webhooks/{webhook_id}/rotate-secret")
  if (rotate.data !== undefined)
    return (
      <DoneDialog title={labels.rotate} close={close}>
        <Secret label={labels.secret} text={rotate.data.secret} />
      </DoneDialog>
    )
  return (
    <Confirm
      title={labels.rotateTitle}
      action={labels.rotate}
      call={rotate}
      act={() => rotate.mutate({ path })}
      close={close}
    >
      {labels.rotateAbout}
    </Confirm>
  )
}

/** Changes an endpoint's address, events and description. Its secret stays. */
const ChangeWebhook = ({
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
      title={labels.change}
      action={labels.save}
      call={change}
      submit={(data) => change.mutate({ path, body: toEndpoint(data) })}
      close={close}
      fields={endpointFields(path.id, webhook)}
    >
      <p className="text-xs text-soft">{labels.changeAbout}</p>
    </FormDialog>
  )
}
