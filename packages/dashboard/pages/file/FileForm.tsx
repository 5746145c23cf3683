/** The text and settings of a file's messages, what is wrong with its rows, and the button that sends it. */
import { useState } from "react"
import type { FormEvent } from "react"
import { FromField } from "../messages/FromField.tsx"
import { Preview } from "../messages/Preview.tsx"
import { newMessageLabels } from "../messages/words.ts"
import { CheckField, SelectField, TextArea, TextField } from "../ui/forms.tsx"
import { Button, Loading } from "../ui/parts.tsx"
import { FileCheck } from "./FileCheck.tsx"
import type { Sending } from "./fileRuns.ts"
import { unknownPlaceholders } from "./plan.ts"
import type { FileSettings } from "./plan.ts"
import type { ChosenFile, Sheet } from "./sheet.ts"
import { useCheck } from "./useCheck.ts"
import type { Check } from "./useCheck.ts"
import { fileLabels as labels } from "./words.ts"

type Change = (change: Partial<FileSettings>) => void

const firstSettings = ({ columns, recipients }: Sheet): FileSettings => {
  const text = columns.find((name) => /^(text|message)$/i.test(name))
  return {
    to: recipients,
    template: text === undefined ? "" : `{${text}}`,
    from: null,
    sendAt: null,
    expiresAt: null,
    once: true,
    leaveOutWrong: false,
    mode: "live",
  }
}

export const FileForm = ({
  file,
  id,
  send,
}: {
  id: number
  file: ChosenFile
  send: (sending: Sending) => void
}) => {
  const [settings, setSettings] = useState(() => firstSettings(file.sheet))
  const change: Change = (changes) => setSettings((now) => ({ ...now, ...changes }))
  const check = useCheck(id, file, settings)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (check?.sending) send(check.sending)
  }
  return (
    <form className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]" onSubmit={submit}>
      <div className="flex min-w-0 flex-col gap-4">
        <Settings id={id} file={file} settings={settings} change={change} />
        {check === null ? (
          <Loading rows={4} />
        ) : (
          <FileCheck check={check} settings={settings} change={change} />
        )}
      </div>
      {check !== null && <RowPreview check={check} />}
    </form>
  )
}

/** A local time of a field as an instant; null where it is empty. */
const toInstant = (text: string): string | null =>
  text === "" ? null : new Date(text).toISOString()

const Settings = ({
  change,
  file: { name, sheet },
  id,
  settings,
}: {
  id: number
  file: ChosenFile
  settings: FileSettings
  change: Change
}) => {
  const [unknown] = unknownPlaceholders(settings.template, sheet)
  return (
    <div className="card flex flex-col gap-4 p-5">
      <p className="truncate text-sm font-medium">{labels.chosen(name, sheet.rows.length)}</p>
      <SelectField
        label={labels.to}
        value={settings.to}
        onChange={(event) => change({ to: Number(event.target.value) })}
        options={sheet.columns.map((column, index) => [index, column])}
      />
      <TextArea
        label={labels.template}
        about={<Columns sheet={sheet} />}
        problem={unknown === undefined ? undefined : labels.noColumn(unknown)}
        value={settings.template}
        onChange={(event) => change({ template: event.target.value })}
        rows={4}
        required
        autoFocus
      />
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <FromField id={id} change={(from) => change({ from })} sends={settings.mode === "live"} />
        <div className="max-sm:hidden" />
        <TextField
          type="datetime-local"
          label={newMessageLabels.sendAt}
          about={newMessageLabels.sendAtAbout}
          onChange={(event) => change({ sendAt: toInstant(event.target.value) })}
        />
        <TextField
          type="datetime-local"
          label={newMessageLabels.expiresAt}
          about={newMessageLabels.expiresAtAbout}
          onChange={(event) => change({ expiresAt: toInstant(event.target.value) })}
        />
      </div>
      <CheckField
        label={newMessageLabels.test}
        checked={settings.mode === "test"}
        onChange={(event) => change({ mode: event.target.checked ? "test" : "live" })}
      />
    </div>
  )
}

const Columns = ({ sheet }: { sheet: Sheet }) => (
  <>
    {labels.templateAbout}{" "}
    {sheet.columns.map((column) => (
      <code key={column} className="mr-1.5 inline-block font-mono break-all">{`{${column}}`}</code>
    ))}
  </>
)

/** One row's message, as its recipient sees it. */
const RowPreview = ({ check: { rows } }: { check: Check }) => {
  const [at, setAt] = useState(0)
  const index = Math.min(at, rows.length - 1)
  const row = rows[index]
  return (
    <div className="flex min-w-0 flex-col gap-3 lg:sticky lg:top-6">
      <Preview
        text={row?.text ?? ""}
        empty={row === undefined ? labels.nothing : newMessageLabels.previewEmpty}
      />
      {row !== undefined && (
        <nav aria-label={labels.preview} className="flex items-center gap-2 text-xs text-soft">
          <span className="mr-auto min-w-0 truncate">
            {labels.getPreview(index + 1, rows.length)}
            <span className="block truncate font-mono">
              {labels.toWhom(row.to.phone ?? row.to.username ?? "")}
            </span>
          </span>
          <Button
            aria-label={labels.previous}
            aria-disabled={index === 0}
            onClick={() => setAt(Math.max(0, index - 1))}
          >
            ‹
          </Button>
          <Button
            aria-label={labels.next}
            aria-disabled={index === rows.length - 1}
            onClick={() => setAt(Math.min(rows.length - 1, index + 1))}
          >
            ›
          </Button>
        </nav>
      )}
    </div>
  )
}
