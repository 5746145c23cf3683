/** Makes a key: its scopes, explained, its numbers and its end; then shows it once. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { CreateKey } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { useCall } from "../api/useCall.ts"
import { nameOf } from "../numbers/connection.ts"
import { DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { CheckField, textOf } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { Secret } from "../ui/parts.tsx"
import { keyWords, newKeyWords as words, scopeWords } from "./words.ts"

type Version2Key = Extract<CreateKey, { version: 2 }>
type Scope = keyof typeof scopeWords

const scopes = Object.keys(scopeWords) as ReadonlyArray<Scope>

const lifetimes: ReadonlyArray<NonNullable<Version2Key["expires_in"]>> = ["30d", "90d", "1y"]

/** The request that the form describes. */
const keyOf = (data: FormData): CreateKey => {
  if (textOf(data, "version") === "1") return { version: 1 }
  const chosen = scopes.filter((scope) => data.has(`scope ${scope}`))
  const numbers = data.getAll("number").map(Number)
  return {
    version: 2,
    name: textOf(data, "name"),
    mode: textOf(data, "mode") === "test" ? "test" : "live",
    scopes: chosen.length === scopes.length ? "all" : chosen,
    number_ids: data.has("all numbers") ? null : numbers,
    expires_in: lifetimes.find((one) => one === textOf(data, "expires")) ?? null,
  }
}

export const NewKey = ({
  close,
  id,
  isOwner,
}: {
  id: number
  /** Administrators make keys of version 1 alone. */
  isOwner: boolean
  close: () => void
}) => {
  const [version, setVersion] = useState(isOwner ? "2" : "1")
  const make = useCall("POST /admin/v1/workspaces/{id}/keys")
  if (make.data !== undefined)
    return (
      <DoneDialog title={words.title} close={close}>
        <Secret label={keyWords.made} text={make.data.key} />
      </DoneDialog>
    )
  return (
    <FormDialog
      title={words.title}
      action={words.action}
      call={make}
      submit={(data) => make.mutate({ path: { id }, body: keyOf(data) })}
      close={close}
      fields={[
        {
          name: "version",
          label: words.version,
          value: version,
          change: setVersion,
          options: [...(isOwner ? [["2", words.version2] as const] : []), ["1", words.version1]],
        },
        ...(version === "2" ? version2Fields(id) : []),
      ]}
    />
  )
}

const version2Fields = (id: number): FormFields => [
  {
    name: "name",
    label: words.name,
    about: words.nameAbout,
    required: true,
    maxLength: 50,
    autoFocus: true,
  },
  [
    {
      name: "mode",
      label: words.mode,
      options: [
        ["live", words.live],
        ["test", words.test],
      ],
    },
    { name: "expires", label: words.expires, options: words.lifetimes },
  ],
  { shows: "scopes", draw: (problem) => <Scopes problem={problem} /> },
  { shows: "number_ids", draw: (problem) => <Numbers id={id} problem={problem} /> },
]

const Scopes = ({ problem }: { problem: string | undefined }) => (
  <fieldset className="flex flex-col gap-2">
    <legend className="pb-1 text-sm font-medium">{words.scopes}</legend>
    <div className="grid gap-3 sm:grid-cols-2">
      {scopes.map((scope) => (
        <CheckField
          key={scope}
          name={`scope ${scope}`}
          label={scopeWords[scope][0]}
          about={scopeWords[scope][1]}
          defaultChecked
        />
      ))}
    </div>
    <Problem text={problem} />
  </fieldset>
)

const Problem = ({ text }: { text: string | undefined }) =>
  text !== undefined && (
    <p role="alert" className="text-xs text-red">
      {text}
    </p>
  )

const Numbers = ({ id, problem }: { id: number; problem: string | undefined }) => {
  const [all, setAll] = useState(true)
  const numbers = useQuery(asked("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }))
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="pb-1 text-sm font-medium">{words.numbers}</legend>
      <CheckField
        name="all numbers"
        label={words.allNumbers}
        checked={all}
        onChange={(event) => setAll(event.target.checked)}
      />
      {!all &&
        numbers.data?.data.map((number) => (
          <CheckField key={number.id} name="number" value={number.id} label={nameOf(number)} />
        ))}
      <Problem text={problem} />
    </fieldset>
  )
}
