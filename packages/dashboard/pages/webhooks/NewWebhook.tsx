/** Adds an endpoint, and shows the secret of its signatures once. */
import { useCall } from "../api/useCall.ts"
import { DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { Secret } from "../ui/parts.tsx"
import { endpointFields, endpointOf } from "./EndpointFields.tsx"
import { newWebhookWords as words } from "./words.ts"

export const NewWebhook = ({ close, id }: { id: number; close: () => void }) => {
  const add = useCall("POST /admin/v1/workspaces/{id}/webhooks")
  if (add.data !== undefined)
    return (
      <DoneDialog title={words.title} close={close}>
        {"secret" in add.data ? (
          <Secret label={words.secret} text={add.data.secret} />
        ) : (
          <p>{words.known}</p>
        )}
      </DoneDialog>
    )
  return (
    <FormDialog
      title={words.title}
      action={words.action}
      call={add}
      submit={(data) => add.mutate({ path: { id }, body: endpointOf(data) })}
      close={close}
      fields={endpointFields()}
    />
  )
}
