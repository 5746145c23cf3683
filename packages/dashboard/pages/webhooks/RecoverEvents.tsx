/** Delivers again what an endpoint has missed since a time. */
import { useState } from "react"
import { useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import { parseFieldTime } from "../ui/zone.ts"
import type { WebhookPath } from "./EndpointFields.tsx"
import { recoverLabels as labels } from "./words.ts"

const minuteMillis = 60_000
const dayMillis = 86_400_000

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
    const since = parseFieldTime(formText(data, "since"))
    setMissing(since === null)
    if (since !== null) recover.mutate({ path, body: { since } })
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
          instant: proposed,
          label: labels.since,
          about: labels.sinceAbout,
          problem: isMissing ? labels.sinceMissing : undefined,
          required: true,
        },
      ]}
    />
  )
}
