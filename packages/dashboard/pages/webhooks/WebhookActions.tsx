/** What a user can do with an endpoint: test it, change it, deliver again, replace its secret, delete it. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Webhook } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { Confirm, ConfirmCall, DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { Button, Failure, Secret } from "../ui/parts.tsx"
import { endpointFields, endpointOf } from "./EndpointFields.tsx"
import type { WebhookPath } from "./EndpointFields.tsx"
import { webhookActionWords as words } from "./words.ts"

export const WebhookActions = ({ path, webhook }: { path: WebhookPath; webhook: Webhook }) => {
  const [asking, setAsking] = useState<"change" | "rotate" | "remove" | null>(null)
  const close = () => setAsking(null)
  const navigate = useNavigate()
  const test = useCall("POST /admin/v1/workspaces/{id}/webhooks/{webhook_id}/test")
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button busy={test.isPending} onClick={() => test.mutate({ path })}>
        {words.test}
      </Button>
      <Button onClick={() => setAsking("change")}>{words.change}</Button>
      <Button onClick={() => setAsking("rotate")}>{words.rotate}</Button>
      <Button look="danger" onClick={() => setAsking("remove")}>
        {words.remove}
      </Button>
      {test.error && <Failure error={test.error} />}
      <p role="status" className="text-sm text-soft empty:hidden">
        {test.isSuccess && words.tested}
      </p>
      {asking === "change" && <ChangeWebhook path={path} webhook={webhook} close={close} />}
      {asking === "rotate" && <Rotate path={path} close={close} />}
      {asking === "remove" && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/webhooks/{webhook_id}"
          input={{ path }}
          done={() =>
            navigate({ to: "/w/$workspaceId/webhooks", params: { workspaceId: String(path.id) } })
          }
          title={words.removeTitle}
          action={words.remove}
          close={close}
        >
          {words.removeAbout}
        </ConfirmCall>
      )}
    </div>
  )
}

const Rotate = ({ close, path }: { path: WebhookPath; close: () => void }) => {
  const rotate = useCall("POST /admin/v1/workspaces/{id}/webhooks/{webhook_id}/rotate-secret")
  if (rotate.data !== undefined)
    return (
      <DoneDialog title={words.rotate} close={close}>
        <Secret label={words.secret} text={rotate.data.secret} />
      </DoneDialog>
    )
  return (
    <Confirm
      title={words.rotateTitle}
      action={words.rotate}
      call={rotate}
      act={() => rotate.mutate({ path })}
      close={close}
    >
      {words.rotateAbout}
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
