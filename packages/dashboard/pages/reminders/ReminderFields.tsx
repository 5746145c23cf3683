/** The fields of a reminder with its message as the phone shows it, and its next runs while one types. */
import { useQuery } from "@tanstack/react-query"
import { useId, useState } from "react"
import type { Reminder } from "@messaging-service/client"
import { operationQuery, newKey } from "../api/call.ts"
import { Attach, AttachmentPreview } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { Preview } from "../messages/Preview.tsx"
import { newMessageLabels } from "../messages/words.ts"
import { toName } from "../numbers/connection.ts"
import { CheckField, Fields, Form, SelectField } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { ownZone } from "../ui/zone.ts"
import { toAttachment, toText } from "./reminderForm.ts"
import { timeZones } from "./schedule.ts"
import { SchedulePreview, useSchedulePreview } from "./SchedulePreview.tsx"
import { presets, reminderLabels as labels } from "./words.ts"

interface FormProps {
  readonly id: number
  /** Null for a new one. */
  readonly reminder: Reminder | null
  readonly isBusy: boolean
  readonly error: Error | null
  readonly submit: (data: FormData, attachment: Attachment) => void
  readonly changed: () => void
}

export const ReminderFields = ({ changed, error, id, isBusy, reminder, submit }: FormProps) => {
  const [text, setText] = useState(reminder?.text ?? "")
  const [attachment, setAttachment] = useState(() => toAttachment(reminder?.media ?? null))
  const [cron, setCron] = useState(reminder?.schedule.cron ?? "0 9 * * *")
  const [zone, setZone] = useState(() => reminder?.schedule.timezone ?? ownZone())
  const preview = useSchedulePreview(id, cron, zone)
  const fields: FormFields = [
    ...messageFields(id, reminder, text, setText),
    {
      shows: "media",
      draw: (problem) => (
        <Attach
          id={id}
          mode="live"
          attachment={attachment}
          change={setAttachment}
          newUpload={newKey}
          problem={problem}
        />
      ),
    },
    {
      shows: "schedule",
      draw: () => (
        <Schedule
          cron={cron}
          setCron={setCron}
          zone={zone}
          setZone={setZone}
          error={error ?? preview.error}
        />
      ),
    },
  ]
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <Form
        className="card flex min-w-0 flex-col gap-4 p-5"
        action={reminder === null ? labels.create : labels.save}
        call={{ error, isPending: isBusy }}
        submit={(data) => submit(data, attachment)}
        onChange={changed}
        fields={fields}
      >
        {reminder === null && <CheckField name="active" label={labels.active} defaultChecked />}
      </Form>
      <div className="flex flex-col gap-4 lg:sticky lg:top-6">
        <SchedulePreview preview={preview} />
        <Preview
          text={text}
          empty={attachment.kind === "none" ? newMessageLabels.previewEmpty : ""}
          media={<AttachmentPreview attachment={attachment} id={id} mode="live" />}
        />
      </div>
    </div>
  )
}

const messageFields = (
  id: number,
  reminder: Reminder | null,
  text: string,
  setText: (text: string) => void,
): FormFields => [
  {
    name: "name",
    label: labels.name,
    defaultValue: reminder?.name,
    required: true,
    maxLength: 100,
    autoFocus: reminder === null,
  },
  [
    {
      name: "to",
      label: labels.to,
      about: labels.toAbout,
      defaultValue: reminder === null ? undefined : toText(reminder.to),
      required: true,
    },
    {
      shows: "from",
      draw: (problem) => <From id={id} problem={problem} from={reminder?.from ?? null} />,
    },
  ],
  {
    name: "text",
    label: labels.text,
    value: text,
    change: setText,
    rows: 4,
    required: true,
  },
]

const From = ({
  from,
  id,
  problem,
}: {
  id: number
  problem: string | undefined
  from: number | null
}) => {
  const numbers = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }),
  )
  return (
    <SelectField
      // The choice is there once the numbers are.
      key={numbers.data?.data.length}
      name="from"
      label={labels.from}
      problem={problem}
      defaultValue={from ?? ""}
      options={[
        ["", labels.any],
        ...(numbers.data?.data ?? []).map((number) => [number.id, toName(number)] as const),
      ]}
    />
  )
}

const Schedule = ({
  cron,
  error,
  setCron,
  setZone,
  zone,
}: {
  cron: string
  setCron: (cron: string) => void
  zone: string
  setZone: (zone: string) => void
  error: Error | null
}) => {
  const zones = useId()
  return (
    <fieldset className="flex min-w-0 flex-col gap-4 border-t border-line pt-4">
      <legend className="sr-only">{labels.schedule}</legend>
      <Fields
        error={error}
        fields={[
          [
            {
              name: "cron",
              shows: "schedule.cron",
              label: labels.cron,
              about: labels.cronAbout,
              value: cron,
              change: setCron,
              required: true,
              autoComplete: "off",
              spellCheck: false,
              className: "font-mono",
            },
            {
              name: "zone",
              shows: "schedule.timezone",
              label: labels.zone,
              about: labels.zoneAbout,
              value: zone,
              change: setZone,
              list: zones,
              required: true,
              autoComplete: "off",
              spellCheck: false,
            },
          ],
        ]}
      />
      <datalist id={zones}>
        {timeZones.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div className="flex flex-wrap items-center gap-2 text-xs">
        <span className="text-soft">{labels.examples}</span>
        {presets.map(([name, pattern]) => (
          <button
            key={pattern}
            type="button"
            aria-pressed={cron === pattern}
            onClick={() => setCron(pattern)}
            className="cursor-pointer rounded-full border border-line px-2.5 py-1 text-soft hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-wash aria-pressed:text-accent"
          >
            {name}
          </button>
        ))}
      </div>
    </fieldset>
  )
}

/** Says that the workspace's plan has no reminders. */
export const PlanNote = ({ id }: { id: number }) => {
  const { data } = useQuery(operationQuery("GET /admin/v1/workspaces/{id}", { path: { id } }))
  if (data === undefined || data.plan?.reminders === true) return null
  return <p className="rounded-lg bg-amber-wash px-3 py-2 text-sm text-amber">{labels.noPlan}</p>
}
