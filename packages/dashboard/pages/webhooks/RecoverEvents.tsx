/** Delivers again what an endpoint has missed since a time. */
import { useState } from "react"
import { useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import type { WebhookPath } from "./EndpointFields.tsx"
import { recoverLabels as labels } from "./words.ts"

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
  const submit = (data: FormData) => {
    const since = formText(data, "since")
    setMissing(since === "")
    if (since !== "") recover.mutate({ path, body: { since: new Date(since).toISOString() } })
  }
  if (recover.data !== undefined)
    return (
      <DoneDialog title={labels.title} close={close}>
        <p role="status">
          {labels.queued(recover.data.queued)} {recover.data.more && labels.more}
        </p>
      </DoneDialog>
    )
  return (
    <FormDialog
      title={labels.title}
      action={labels.action}
      call={recover}
      submit={submit}
      close={close}
      noValidate
      intro={<p className="text-sm text-soft">{labels.about}</p>}
      fields={[
        {
          name: "since",
          type: "datetime-local",
          defaultValue: toField(proposed),
          label: labels.since,
          about: labels.sinceAbout,
          problem: isMissing ? labels.sinceMissing : undefined,
          required: true,
        },
      ]}
    />
  )
}
