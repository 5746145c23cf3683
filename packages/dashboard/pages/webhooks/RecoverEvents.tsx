/** Delivers again what an endpoint has missed since a time. */
import { useState } from "react"
import type { FormEvent } from "react"
import { useServiceTime } from "../api/serviceTime.ts"
import { useCall } from "../api/useCall.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { FormEnd, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { Button } from "../ui/parts.tsx"
import { dialogWords } from "../ui/words.ts"
import { recoverWords as words } from "./words.ts"
import type { WebhookPath } from "./WebhookPath.ts"

const minuteMillis = 60_000
const dayMillis = 86_400_000

/** As a field of local time takes it, in whole minutes. */
const toField = (at: number): string =>
  new Date(at - new Date(at).getTimezoneOffset() * minuteMillis).toISOString().slice(0, 16)

export const RecoverEvents = ({
  close,
  firstFailure,
  path,
}: {
  path: WebhookPath
  /** When the first of the shown attempts failed; null when none did. */
  firstFailure: number | null
  close: () => void
}) => {
  const now = useServiceTime()
  // The page behind shows only some attempts, and what was accepted is never delivered again: rather too early.
  const proposed = Math.min(now - dayMillis, (firstFailure ?? now) - minuteMillis)
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
          defaultValue={toField(proposed)}
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
