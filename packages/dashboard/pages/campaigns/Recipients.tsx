/** The rows of a campaign: a CSV file or pasted lines, and which of their columns has the recipients. */
import { FileField, SelectField, TextArea } from "../ui/forms.tsx"
import { chooseFile, chooseText } from "./campaignForm.ts"
import type { RowsChoice } from "./campaignForm.ts"
import { formLabels as labels } from "./formWords.ts"

interface RecipientsProps {
  readonly choice: RowsChoice
  readonly change: (choice: RowsChoice) => void
  readonly problem: string | undefined
}

const Radios = <Value extends string>({
  change,
  name,
  options,
  value,
}: {
  name: string
  value: Value
  options: ReadonlyArray<readonly [value: Value, label: string]>
  change: (value: Value) => void
}) => (
  <div className="flex flex-wrap gap-x-4 gap-y-2 text-sm">
    {options.map(([one, label]) => (
      <label key={one} className="flex cursor-pointer items-center gap-1.5">
        <input
          type="radio"
          name={name}
          checked={value === one}
          onChange={() => change(one)}
          className="size-4 accent-accent"
        />
        {label}
      </label>
    ))}
  </div>
)

export const Recipients = ({
  change,
  choice,
  columnProblem,
  problem,
  total,
}: RecipientsProps & {
  columnProblem: string | undefined
  /** How many the draft has. */
  total: number
}) => {
  const { column, columns, how, source } = choice
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-1 text-sm font-medium">{labels.rows}</legend>
      {total > 0 && (
        <Radios
          name="how"
          value={how}
          change={(next) => change({ ...choice, how: next })}
          options={[
            ["keep", labels.how.keep(total)],
            ["replace", labels.how.replace],
            ["add", labels.how.add],
          ]}
        />
      )}
      {how !== "keep" && (
        <>
          <Radios
            name="source"
            value={source}
            change={(next) =>
              change({ ...choice, source: next, file: null, text: "", columns: [], column: null })
            }
            options={[
              ["file", labels.source.file],
              ["pasted", labels.source.pasted],
            ]}
          />
          <Source choice={choice} change={change} problem={problem} />
          {columns.length > 0 && column !== null && (
            <SelectField
              label={labels.column}
              about={labels.columnAbout}
              problem={columnProblem}
              value={column}
              onChange={({ target: { value } }) => change({ ...choice, column: value })}
              options={[...new Set(columns)].map((name) => [name, name])}
            />
          )}
        </>
      )}
    </fieldset>
  )
}

const Source = ({ change, choice, problem }: RecipientsProps) => {
  const wrong = problem ?? (choice.hasHeader ? undefined : labels.noHeader)
  return choice.source === "file" ? (
    <FileField
      accept=".csv,.tsv,.txt,text/csv"
      label={labels.file}
      about={labels.fileAbout}
      problem={wrong}
      required
      choose={(file) => {
        if (file !== undefined) void chooseFile(choice, file).then(change)
      }}
    />
  ) : (
    <TextArea
      label={labels.paste}
      about={labels.pasteAbout}
      problem={wrong}
      value={choice.text}
      onChange={({ target: { value } }) => change(chooseText(choice, value))}
      rows={6}
      spellCheck={false}
      required
    />
  )
}
