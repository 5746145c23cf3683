/** Fields with their words and what is wrong with them. A refusal that names a field is shown at that field. */
import { useId } from "react"
import type {
  InputHTMLAttributes,
  ReactNode,
  SelectHTMLAttributes,
  TextareaHTMLAttributes,
} from "react"
import { Refused } from "../api/call.ts"
import { Button, Failure } from "./parts.tsx"
import { dialogWords as words } from "./words.ts"

/** `to[3].phone` is within `to`. */
const isWithin = (path: string | null, field: string): boolean =>
  path !== null && path.startsWith(field) && /^$|^[.[]/.test(path.slice(field.length))

/** What the service says about that field of the contract; undefined when it complains of another or of none. */
export const fieldProblem = (error: Error | null, field: string): string | undefined =>
  error instanceof Refused && isWithin(error.field, field) ? error.message : undefined

interface FieldProps {
  readonly label: string
  readonly about?: ReactNode
  readonly problem?: string | undefined
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

type WithoutChildren = Omit<FieldProps, "children">
/** React's types give every element an `about` of its own, which is a text. */
type Attributes<Of> = Omit<Of, "about">

const input = "control w-full min-w-0 justify-start font-normal aria-invalid:border-red"

export const TextField = ({
  about,
  label,
  problem,
  ...attributes
}: WithoutChildren & Attributes<InputHTMLAttributes<HTMLInputElement>>) => (
  <Field label={label} about={about} problem={problem}>
    {(ids) => (
      <input {...attributes} {...ids} className={`${input} ${attributes.className ?? ""}`} />
    )}
  </Field>
)

/** A file of this machine, which the page reads itself. */
export const FileField = ({
  choose,
  ...attributes
}: WithoutChildren & {
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
}: WithoutChildren & Attributes<TextareaHTMLAttributes<HTMLTextAreaElement>>) => (
  <Field label={label} about={about} problem={problem}>
    {(ids) => (
      <textarea
        {...attributes}
        {...ids}
        className="w-full min-w-0 rounded-md border border-edge bg-surface px-2.5 py-1.5 text-sm aria-invalid:border-red"
      />
    )}
  </Field>
)

export const SelectField = ({
  about,
  children,
  label,
  problem,
  ...attributes
}: WithoutChildren &
  Attributes<SelectHTMLAttributes<HTMLSelectElement>> & { children: ReactNode }) => (
  <Field label={label} about={about} problem={problem}>
    {(ids) => (
      <select {...attributes} {...ids} className={input}>
        {children}
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
      <span className="block font-medium">{label}</span>
      {about && <span className="block text-xs text-soft">{about}</span>}
    </span>
  </label>
)

/** The end of a form: a refusal that no field shows, the way back, and the button that sends it. */
export const FormEnd = ({
  action,
  busy,
  close,
  error,
  fields = [],
}: {
  action: string
  busy: boolean
  error: Error | null
  /** The fields of the contract that the form shows. */
  fields?: ReadonlyArray<string>
  close?: () => void
}) => (
  <>
    {error && fields.every((field) => fieldProblem(error, field) === undefined) && (
      <Failure error={error} />
    )}
    <div className="flex flex-wrap justify-end gap-2">
      {close && <Button onClick={close}>{words.back}</Button>}
      <Button type="submit" look="primary" busy={busy}>
        {action}
      </Button>
    </div>
  </>
)

/** The text of a field of a form, without spaces around it. */
export const textOf = (data: FormData, name: string): string => {
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
  /** The name of the radio buttons of which one is checked. */
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
