/** Forms with fields that are data, and single fields. A refusal that names a field is shown at that field. */
import { useId } from "react"
import type {
  FormHTMLAttributes,
  InputHTMLAttributes,
  ReactNode,
  SelectHTMLAttributes,
  TextareaHTMLAttributes,
} from "react"
import { Refused } from "../api/call.ts"
import { Button, Failure, Kbd } from "./parts.tsx"
import { dialogLabels as labels, zoneLabels } from "./words.ts"
import { toFieldTime, useZone } from "./zone.ts"

/** `to[3].phone` is within `to`. */
const isWithin = (path: string | null, field: string): boolean =>
  path !== null && path.startsWith(field) && /^$|^[.[]/.test(path.slice(field.length))

/** What the service says about that field of the contract; undefined when it complains of another or of none. */
export const fieldProblem = (error: Error | null, field: string): string | undefined =>
  error instanceof Refused && isWithin(error.field, field) ? error.message : undefined

interface FieldLabels {
  readonly label: string
  readonly about?: ReactNode
  readonly problem?: string | undefined
}

interface FieldProps extends FieldLabels {
  readonly children: (ids: {
    readonly id: string
    readonly "aria-invalid": boolean
    readonly "aria-describedby": string
  }) => ReactNode
}

const Field = ({ about, children, label, problem }: FieldProps) => {
  const id = useId()
  const description = `${id}-about`
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({ id, "aria-invalid": problem !== undefined, "aria-describedby": description })}
      <p id={description} className="text-xs text-soft empty:hidden">
        {problem === undefined ? (
          about
        ) : (
          <span role="alert" className="text-red">
            {problem}
          </span>
        )}
      </p>
    </div>
  )
}

/** React's types give every element an `about` of its own, which is a text. */
type Attributes<Of> = Omit<Of, "about">

const input =
  "control w-full min-w-0 justify-start font-normal disabled:bg-sunken disabled:text-soft aria-invalid:border-red"

export const TextField = ({
  about,
  label,
  problem,
  ...attributes
}: FieldLabels & Attributes<InputHTMLAttributes<HTMLInputElement>>) => (
  <Field label={label} about={about} problem={problem}>
    {(ids) => (
      <input {...attributes} {...ids} className={`${input} ${attributes.className ?? ""}`} />
    )}
  </Field>
)

/** A date and time in the zone of the page. A change of zone begins it again, so that no time moves unseen. */
const TimeField = ({
  about,
  instant = null,
  ...attributes
}: FieldLabels & { readonly instant?: number | null } & Attributes<
    InputHTMLAttributes<HTMLInputElement>
  >) => {
  const zone = useZone()
  return (
    <TextField
      key={zone}
      {...attributes}
      about={
        <>
          {about} {zoneLabels.ofField(zone)}
        </>
      }
      defaultValue={instant === null ? "" : toFieldTime(instant, zone)}
    />
  )
}

/** A file of this machine, which the page reads itself. */
export const FileField = ({
  choose,
  ...attributes
}: FieldLabels & {
  accept?: string
  required?: boolean
  choose: (file: File | undefined) => void
}) => (
  <TextField
    {...attributes}
    type="file"
    className="h-auto! cursor-pointer py-1.5! text-soft file:mr-3 file:cursor-pointer file:rounded file:border file:border-solid file:border-line file:bg-sunken file:px-2.5 file:py-1 file:text-ink"
    onChange={(event) => choose(event.target.files?.[0])}
  />
)

export const TextArea = ({
  about,
  label,
  problem,
  ...attributes
}: FieldLabels & Attributes<TextareaHTMLAttributes<HTMLTextAreaElement>>) => (
  <Field label={label} about={about} problem={problem}>
    {(ids) => (
      <textarea
        {...attributes}
        {...ids}
        className="w-full min-w-0 rounded-md border border-edge bg-surface px-2.5 py-1.5 text-sm disabled:bg-sunken disabled:text-soft aria-invalid:border-red"
      />
    )}
  </Field>
)

type Options = ReadonlyArray<readonly [value: string | number, name: string]>

export const SelectField = ({
  about,
  label,
  options,
  problem,
  ...attributes
}: FieldLabels & Attributes<SelectHTMLAttributes<HTMLSelectElement>> & { options: Options }) => (
  <Field label={label} about={about} problem={problem}>
    {(ids) => (
      <select {...attributes} {...ids} className={input}>
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    )}
  </Field>
)

export const CheckField = ({
  about,
  label,
  ...attributes
}: { label: string; about?: ReactNode } & Attributes<InputHTMLAttributes<HTMLInputElement>>) => (
  <label className="flex cursor-pointer gap-2.5 text-sm">
    <input
      type="checkbox"
      {...attributes}
      className="mt-0.5 size-4 shrink-0 cursor-pointer accent-accent"
    />
    <span className="min-w-0">
      <span className="block font-medium break-words">{label}</span>
      {about && <span className="block text-xs text-soft">{about}</span>}
    </span>
  </label>
)

/** The fields of the contract with refusals that a field shows. */
type PublicFields = string | ReadonlyArray<string>

type DataField = FieldLabels & {
  readonly name: string
  readonly shows?: PublicFields
  /** Takes what the user writes, of a field with a value that the page holds. */
  readonly change?: (value: string) => void
} & (
    | ({
        /** What a field of date and time begins with. */
        readonly instant?: number | null
      } & Attributes<InputHTMLAttributes<HTMLInputElement>>)
    | ({ readonly rows: number } & Attributes<TextareaHTMLAttributes<HTMLTextAreaElement>>)
    | ({ readonly options: Options } & Attributes<SelectHTMLAttributes<HTMLSelectElement>>)
  )

/** A part of the page that shows refusals of its own. */
interface DrawnField {
  readonly shows: PublicFields
  readonly draw: (problem: string | undefined) => ReactNode
}

export type FormField = DataField | DrawnField

/** One below the other; those of an inner list side by side. A field shows refusals of its own name, unless it says. */
export type FormFields = ReadonlyArray<FormField | ReadonlyArray<FormField>>

const shownBy = (field: FormField): ReadonlyArray<string> =>
  [field.shows ?? ("name" in field ? field.name : [])].flat()

const toProblem = (error: Error | null, field: FormField): string | undefined =>
  ("problem" in field ? field.problem : undefined) ??
  shownBy(field)
    .map((name) => fieldProblem(error, name))
    .find((problem) => problem !== undefined)

const toKey = (field: FormField): string => ("name" in field ? field.name : shownBy(field).join())

interface Changed {
  readonly target: { readonly value: string }
}

const OneField = ({ error, field }: { error: Error | null; field: FormField }) => {
  const problem = toProblem(error, field)
  if ("draw" in field) return field.draw(problem)
  const { change, shows: _, ...attributes } = field
  const onChange = change && { onChange: (event: Changed) => change(event.target.value) }
  const options = { ...attributes, ...onChange, problem }
  if ("rows" in options) return <TextArea {...options} />
  if ("options" in options) return <SelectField {...options} />
  if (options.type === "datetime-local") return <TimeField {...options} />
  return options.type === "checkbox" ? <CheckField {...options} /> : <TextField {...options} />
}

export const Fields = ({ error, fields }: { error: Error | null; fields: FormFields }) =>
  fields.map((one) =>
    "length" in one ? (
      <div key={one.map(toKey).join()} className="grid items-start gap-[inherit] sm:grid-cols-2">
        <Fields error={error} fields={one} />
      </div>
    ) : (
      <OneField key={toKey(one)} error={error} field={one} />
    ),
  )

/** What a form waits for: a mutation. */
export interface Call {
  readonly error: Error | null
  readonly isPending: boolean
}

interface FormEndProps {
  readonly action: string
  readonly call: Call
  readonly fields: FormFields
  readonly close?: (() => void) | undefined
}

/** The end of a form: a refusal that no field shows, the way back, and the button that sends it. */
const FormEnd = ({ action, call: { error, isPending }, close, fields }: FormEndProps) => (
  <>
    {error && fields.flat().every((field) => toProblem(error, field) === undefined) && (
      <Failure error={error} />
    )}
    <div className="flex flex-wrap justify-end gap-2">
      {close && <Button onClick={close}>{labels.cancel}</Button>}
      <Button
        type="submit"
        variant="primary"
        busy={isPending}
        aria-keyshortcuts="Control+Enter Meta+Enter"
      >
        {action}
        {fields.flat().some((field) => "rows" in field) && <Kbd on="accent">Ctrl ↵</Kbd>}
      </Button>
    </div>
  </>
)

export interface FormProps
  extends FormEndProps, Omit<FormHTMLAttributes<HTMLFormElement>, "action" | "onSubmit"> {
  /** Above the fields. */
  readonly intro?: ReactNode
  readonly submit: (data: FormData, form: HTMLFormElement) => void
}

/** The children are between the fields and the end. */
export const Form = ({
  action,
  call,
  children,
  className = "flex flex-col gap-4",
  close,
  fields,
  intro,
  submit,
  ...attributes
}: FormProps) => (
  <form
    {...attributes}
    className={className}
    // In a text of several lines Enter alone begins the next one.
    onKeyDown={(event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      event.currentTarget.requestSubmit()
    }}
    onSubmit={(event) => {
      event.preventDefault()
      if (!call.isPending) submit(new FormData(event.currentTarget), event.currentTarget)
    }}
  >
    {intro}
    <Fields error={call.error} fields={fields} />
    {children}
    <FormEnd action={action} call={call} fields={fields} close={close} />
  </form>
)

/** The text of a field of a form, without spaces around it. */
export const formText = (data: FormData, name: string): string => {
  const value = data.get(name)
  return typeof value === "string" ? value.trim() : ""
}

/** One of a few ways, with a sentence about it. */
export const Choice = ({
  about,
  checked,
  choose,
  group,
  name,
  value,
}: {
  /** The name of a group of radio buttons. */
  group: string
  value: string
  name: string
  about: string
  checked: boolean
  choose: () => void
}) => (
  <label className="flex cursor-pointer gap-3 rounded-lg border border-line p-3 has-checked:border-accent has-checked:bg-accent-wash">
    <input
      type="radio"
      name={group}
      value={value}
      checked={checked}
      onChange={choose}
      className="mt-0.5 size-4 shrink-0 self-start accent-accent"
    />
    <span>
      <span className="block font-medium">{name}</span>
      <span className="text-sm text-soft">{about}</span>
    </span>
  </label>
)
