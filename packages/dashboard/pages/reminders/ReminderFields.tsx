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
import type { FormField, FormFields } from "../ui/forms.tsx"
import { timeZones } from "../ui/timeZones.ts"
import { ownZone } from "../ui/zone.ts"
import { toAttachment, toText } from "./reminderForm.ts"
import { parseSimple, toCron } from "./schedule.ts"
import type { Simple } from "./schedule.ts"
import { SchedulePreview, useSchedulePreview } from "./SchedulePreview.tsx"
import { dayNames, reminderLabels as labels, repeatLabels, scheduleTexts } from "./words.ts"

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

interface ScheduleProps {
  readonly cron: string
  readonly setCron: (cron: string) => void
  readonly zone: string
  readonly setZone: (zone: string) => void
  readonly error: Error | null
}

const Schedule = ({ cron, error, setCron, setZone, zone }: ScheduleProps) => {
  const zones = useId()
  const parsed = parseSimple(cron)
  const [isCustom, setCustom] = useState(parsed === null)
  const simple = isCustom ? null : parsed
  return (
    <fieldset className="flex min-w-0 flex-col gap-4 border-t border-line pt-4">
      <legend className="sr-only">{labels.schedule}</legend>
      {simple !== null && <input type="hidden" name="cron" value={cron} />}
      <Fields
        error={error}
        fields={[
          [
            {
              name: "repeat",
              ...(simple === null ? { shows: [] } : { shows: "schedule.cron" }),
              label: labels.repeat,
              value: simple?.repeat ?? "custom",
              change: (repeat) => {
                setCustom(repeat === "custom")
                const chosen = repeats.find((one) => one === repeat)
                if (chosen !== undefined)
                  setCron(toCron({ ...(parsed ?? firstSchedule), repeat: chosen }))
              },
              options: Object.entries(repeatLabels),
            },
            ...(simple === null ? [customField(cron, setCron)] : simpleFields(simple, setCron)),
          ],
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
        ]}
      />
      <datalist id={zones}>
        {timeZones.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </fieldset>
  )
}

const repeats = Object.keys(scheduleTexts) as ReadonlyArray<Simple["repeat"]>

const firstSchedule: Simple = { repeat: "daily", time: "09:00", weekday: 1, monthDay: 1 }

const customField = (cron: string, setCron: (cron: string) => void): FormField => ({
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
})

/** The day, where there is one to choose, and the time of the day. */
const simpleFields = (
  simple: Simple,
  setCron: (cron: string) => void,
): ReadonlyArray<FormField> => {
  const set = (change: Partial<Simple>) => setCron(toCron({ ...simple, ...change }))
  const weekday: FormField = {
    name: "weekday",
    label: labels.weekday,
    value: simple.weekday,
    change: (value) => set({ weekday: Number(value) }),
    options: [1, 2, 3, 4, 5, 6, 0].map((day) => [day, dayNames[day] ?? ""] as const),
  }
  const monthDay: FormField = {
    name: "day of the month",
    label: labels.monthDay,
    about: labels.monthDayAbout(simple.monthDay),
    value: simple.monthDay,
    change: (value) => set({ monthDay: Number(value) }),
    options: Array.from({ length: 31 }, (_, index) => [index + 1, String(index + 1)] as const),
  }
  const time: FormField = {
    name: "time",
    label: labels.time,
    type: "time",
    value: simple.time,
    // An emptied field keeps the last time: a schedule has one.
    change: (value) => value !== "" && set({ time: value }),
    required: true,
  }
  if (simple.repeat === "weekly") return [weekday, time]
  return simple.repeat === "monthly" ? [monthDay, time] : [time]
}

/** Says that the workspace's plan has no reminders. */
export const PlanNote = ({ id }: { id: number }) => {
  const { data } = useQuery(operationQuery("GET /admin/v1/workspaces/{id}", { path: { id } }))
  if (data === undefined || data.plan?.reminders === true) return null
  return <p className="rounded-lg bg-amber-wash px-3 py-2 text-sm text-amber">{labels.noPlan}</p>
}
