/** Adds an endpoint, and shows the secret of its signatures once. */
import type { FormEvent } from "react"
import { useCall } from "../api/useCall.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { FormEnd } from "../ui/forms.tsx"
import { Button, Secret } from "../ui/parts.tsx"
import { dialogWords } from "../ui/words.ts"
import { EndpointFields, endpointFields, endpointOf } from "./EndpointFields.tsx"
import { newWebhookWords as words } from "./words.ts"

export const NewWebhook = ({ close, id }: { id: number; close: () => void }) => {
  const add = useCall("POST /admin/v1/workspaces/{id}/webhooks")
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    add.mutate({ path: { id }, body: endpointOf(new FormData(event.currentTarget)) })
  }
  if (add.data !== undefined)
    return (
      <Dialog title={words.title} close={close}>
        {"secret" in add.data ? (
          <Secret label={words.secret} text={add.data.secret} />
        ) : (
          <p>{words.known}</p>
        )}
        <Button look="primary" className="self-end" onClick={close}>
          {dialogWords.done}
        </Button>
      </Dialog>
    )
  return (
    <Dialog title={words.title} close={close}>
      <form className="flex flex-col gap-4" onSubmit={submit}>
        <EndpointFields error={add.error} />
        <FormEnd
          action={words.action}
          busy={add.isPending}
          error={add.error}
          fields={endpointFields}
          close={close}
        />
      </form>
    </Dialog>
  )
}
