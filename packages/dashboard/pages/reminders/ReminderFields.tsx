/** The fields of a reminder with its message as the phone shows it, and its next runs while one types. */
import { useQuery } from "@tanstack/react-query"
import { useId, useState } from "react"
import type { FormEvent } from "react"
import type { Reminder } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { newKey } from "../api/newKey.ts"
import { Attach, AttachmentPreview } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { Preview } from "../messages/Preview.tsx"
import { newMessageWords } from "../messages/words.ts"
import { nameOf } from "../numbers/connection.ts"
import {
  CheckField,
  FormEnd,
  SelectField,
  TextArea,
  TextField,
  fieldProblem,
} from "../ui/forms.tsx"
import { attachmentOf, toText } from "./reminderForm.ts"
import { ownZone, timeZones } from "./schedule.ts"
import { SchedulePreview, useSchedulePreview } from "./SchedulePreview.tsx"
import { presets, reminderWords as words } from "./words.ts"

interface FormProps {
  readonly id: number
  /** Null for a new one. */
  readonly reminder: Reminder | null
  readonly isBusy: boolean
  readonly error: Error | null
  readonly submit: (data: FormData, attachment: Attachment) => void
  readonly changed: () => void
}

const fields = ["name", "to", "from", "text", "media", "schedule"]

export const ReminderFields = ({ changed, error, id, isBusy, reminder, submit }: FormProps) => {
  const [text, setText] = useState(reminder?.text ?? "")
  const [attachment, setAttachment] = useState(() => attachmentOf(reminder?.media ?? null))
  const [cron, setCron] = useState(reminder?.schedule.cron ?? "0 9 * * *")
  const [zone, setZone] = useState(() => reminder?.schedule.timezone ?? ownZone())
  const preview = useSchedulePreview(id, cron, zone)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (!isBusy) submit(new FormData(event.currentTarget), attachment)
  }
  const media = <AttachmentPreview attachment={attachment} id={id} mode="live" />
  return (
    <form
      className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]"
      onSubmit={send}
      onChange={changed}
    >
      <div className="card flex min-w-0 flex-col gap-4 p-5">
        <Message id={id} reminder={reminder} error={error} text={text} setText={setText} />
        <Attach
          id={id}
          mode="live"
          attachment={attachment}
          change={setAttachment}
          newUpload={newKey}
          problem={fieldProblem(error, "media")}
        />
        <Schedule
          cron={cron}
          setCron={setCron}
          zone={zone}
          setZone={setZone}
          error={error ?? preview.error}
        />
        {reminder === null && <CheckField name="active" label={words.active} defaultChecked />}
        <FormEnd
          action={reminder === null ? words.create : words.save}
          busy={isBusy}
          error={error}
          fields={fields}
        />
      </div>
      <div className="flex flex-col gap-4 lg:sticky lg:top-6">
        <SchedulePreview preview={preview} />
        <Preview
          text={text}
          empty={attachment.kind === "none" ? newMessageWords.previewEmpty : ""}
          media={media}
        />
      </div>
    </form>
  )
}

const Message = ({
  error,
  id,
  reminder,
  setText,
  text,
}: Pick<FormProps, "error" | "id" | "reminder"> & {
  text: string
  setText: (text: string) => void
}) => (
  <>
    <TextField
      name="name"
      label={words.name}
      problem={fieldProblem(error, "name")}
      defaultValue={reminder?.name}
      required
      maxLength={100}
      autoFocus={reminder === null}
    />
    <div className="grid items-start gap-4 sm:grid-cols-2">
      <TextField
        name="to"
        label={words.to}
        about={words.toAbout}
        problem={fieldProblem(error, "to")}
        defaultValue={reminder === null ? undefined : toText(reminder.to)}
        required
      />
      <From id={id} error={error} from={reminder?.from ?? null} />
    </div>
    <TextArea
      name="text"
      label={words.text}
      problem={fieldProblem(error, "text")}
      value={text}
      onChange={(event) => setText(event.target.value)}
      rows={4}
      required
    />
  </>
)

const From = ({ error, from, id }: { id: number; error: Error | null; from: number | null }) => {
  const numbers = useQuery(asked("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }))
  return (
    <SelectField
      // The choice is there once the numbers are.
      key={numbers.data?.data.length}
      name="from"
      label={words.from}
      problem={fieldProblem(error, "from")}
      defaultValue={from ?? ""}
    >
      <option value="">{words.any}</option>
      {numbers.data?.data.map((number) => (
        <option key={number.id} value={number.id}>
          {nameOf(number)}
        </option>
      ))}
    </SelectField>
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
      <legend className="sr-only">{words.schedule}</legend>
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <TextField
          name="cron"
          label={words.cron}
          about={words.cronAbout}
          problem={fieldProblem(error, "schedule.cron")}
          value={cron}
          onChange={(event) => setCron(event.target.value)}
          required
          autoComplete="off"
          spellCheck={false}
          className="font-mono"
        />
        <TextField
          name="zone"
          label={words.zone}
          about={words.zoneAbout}
          problem={fieldProblem(error, "schedule.timezone")}
          value={zone}
          onChange={(event) => setZone(event.target.value)}
          list={zones}
          required
          autoComplete="off"
          spellCheck={false}
        />
      </div>
      <datalist id={zones}>
        {timeZones.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div className="flex flex-wrap items-center gap-2 text-xs">
        <span className="text-soft">{words.examples}</span>
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
