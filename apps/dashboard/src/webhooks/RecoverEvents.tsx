/** Delivers again what an endpoint has missed since a time. */
import { useState } from "react"
import type { FormEvent } from "react"
import { useCall } from "../api/useCall.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { FormEnd, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { Button } from "../ui/parts.tsx"
import { dialogWords } from "../ui/words.ts"
import { recoverWords as words } from "./words.ts"
import type { WebhookPath } from "./WebhookPath.ts"

export const RecoverEvents = ({ close, path }: { path: WebhookPath; close: () => void }) => {
  const recover = useCall("POST /admin/v1/workspaces/{id}/webhooks/{webhook_id}/recover")
  const [isMissing, setMissing] = useState(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const since = textOf(new FormData(event.currentTarget), "since")
    setMissing(since === "")
    if (since !== "") recover.mutate({ path, body: { since: new Date(since).toISOString() } })
  }
  if (recover.data !== undefined)
    return (
      <Dialog title={words.title} close={close}>
        <p role="status">
          {words.queued(recover.data.queued)} {recover.data.more && words.more}
        </p>
        <Button look="primary" className="self-end" onClick={close}>
          {dialogWords.done}
        </Button>
      </Dialog>
    )
  return (
    <Dialog title={words.title} close={close}>
      <form className="flex flex-col gap-4" onSubmit={submit} noValidate>
        <p className="text-sm text-soft">{words.about}</p>
        <TextField
          name="since"
          type="datetime-local"
          label={words.since}
          about={words.sinceAbout}
          problem={isMissing ? words.sinceMissing : fieldProblem(recover.error, "since")}
          required
        />
        <FormEnd
          action={words.action}
          busy={recover.isPending}
          error={recover.error}
          fields={["since"]}
          close={close}
        />
      </form>
    </Dialog>
  )
}
