/** The keys of a workspace: what each may do, when it was last used, and making and revoking them. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { CreateKey, Key } from "@messaging-service/client"
import { asked, useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { nameOf } from "../numbers/connection.ts"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall, DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { CheckField, textOf } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { Button, Secret, Section } from "../ui/parts.tsx"
import { RowButton, Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { keyWords, keyWords as words, newKeyWords, scopeWords } from "./words.ts"

const never = <span className="text-soft">{words.never}</span>

const columnsOf = (revoke: (key: Key) => void): Columns<Key> => [
  {
    name: words.name,
    cell: (key) => (
      <>
        <span className="font-medium">{key.name}</span>
        <span className="ml-2 font-mono text-xs text-faint">…{key.last4}</span>
        <Marks of={key} />
      </>
    ),
  },
  {
    name: words.scopes,
    wide: true,
    cell: ({ scopes }) =>
      scopes.length === Object.keys(scopeWords).length
        ? words.everything
        : scopes.map((scope) => scopeWords[scope][0]).join(", "),
  },
  {
    name: words.numbers,
    wide: true,
    cell: (key) =>
      key.limited_to_numbers ? words.someNumbers(key.number_ids.length) : words.allNumbers,
  },
  {
    name: words.lastUse,
    wide: true,
    cell: ({ last_used_at: at }) => (at === null ? never : <When at={at} />),
  },
  {
    name: words.ends,
    wide: true,
    cell: ({ expires_at: at }) => (at === null ? never : <When at={at} how="clock" />),
  },
  {
    name: words.actions,
    right: true,
    silent: true,
    cell: (key) =>
      key.revoked_at === null && (
        <RowButton aria-label={words.revokeKey(key.name)} onClick={() => revoke(key)}>
          {words.revoke}
        </RowButton>
      ),
  },
]

export const KeysSection = ({ id, isOwner }: { id: number; isOwner: boolean }) => {
  const keys = useQuery(asked("GET /admin/v1/workspaces/{id}/keys", { path: { id } }))
  const [isMaking, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Key | null>(null)
  const [showsRevoked, setShowsRevoked] = useState(false)
  return (
    <Section
      title={words.title}
      about={words.about}
      action={
        <Button look="primary" onClick={() => setMaking(true)}>
          {words.make}
        </Button>
      }
    >
      <Answer query={keys}>
        {({ data }) => {
          const revoked = data.filter(({ revoked_at: at }) => at !== null)
          const shown = data.filter(({ revoked_at: at }) => at === null || showsRevoked)
          return (
            <div className="flex flex-col items-start gap-2">
              <div className="w-full">
                <Table
                  caption={words.caption}
                  columns={columnsOf(setRevoking)}
                  rows={shown.toReversed()}
                  empty={["key", words.empty, words.emptyAbout]}
                />
              </div>
              {revoked.length > 0 && !showsRevoked && (
                <Button look="quiet" onClick={() => setShowsRevoked(true)}>
                  {words.showRevoked(revoked.length)}
                </Button>
              )}
            </div>
          )
        }}
      </Answer>
      {isMaking && <NewKey id={id} isOwner={isOwner} close={() => setMaking(false)} />}
      {revoking !== null && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/keys/{key_id}"
          input={{ path: { id, key_id: revoking.id } }}
          title={words.revokeTitle(revoking.name)}
          action={words.revoke}
          close={() => setRevoking(null)}
        >
          {words.revokeAbout}
        </ConfirmCall>
      )}
    </Section>
  )
}

/** What is unusual about a key, in small words behind its name. */
const Marks = ({ of: key }: { of: Key }) => {
  const now = useServiceTime()
  const isExpired = key.expires_at !== null && Date.parse(key.expires_at) <= now
  const marks = [
    key.mode === "test" && words.test,
    key.version === 1 && words.version1,
    key.revoked_at !== null && words.revoked,
    key.revoked_at === null && isExpired && words.expired,
  ].filter((mark) => mark !== false)
  return marks.map((mark) => (
    <span key={mark} className="ml-2 rounded-full bg-sunken px-2 py-0.5 text-2xs text-soft">
      {mark}
    </span>
  ))
}

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

/** Makes a key: its scopes, explained, its numbers and its end; then shows it once. */
const NewKey = ({
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
      <DoneDialog title={newKeyWords.title} close={close}>
        <Secret label={keyWords.made} text={make.data.key} />
      </DoneDialog>
    )
  return (
    <FormDialog
      title={newKeyWords.title}
      action={newKeyWords.action}
      call={make}
      submit={(data) => make.mutate({ path: { id }, body: keyOf(data) })}
      close={close}
      fields={[
        {
          name: "version",
          label: newKeyWords.version,
          value: version,
          change: setVersion,
          options: [
            ...(isOwner ? [["2", newKeyWords.version2] as const] : []),
            ["1", newKeyWords.version1],
          ],
        },
        ...(version === "2" ? version2Fields(id) : []),
      ]}
    />
  )
}

const version2Fields = (id: number): FormFields => [
  {
    name: "name",
    label: newKeyWords.name,
    about: newKeyWords.nameAbout,
    required: true,
    maxLength: 50,
    autoFocus: true,
  },
  [
    {
      name: "mode",
      label: newKeyWords.mode,
      options: [
        ["live", newKeyWords.live],
        ["test", newKeyWords.test],
      ],
    },
    { name: "expires", label: newKeyWords.expires, options: newKeyWords.lifetimes },
  ],
  { shows: "scopes", draw: (problem) => <Scopes problem={problem} /> },
  { shows: "number_ids", draw: (problem) => <Numbers id={id} problem={problem} /> },
]

const Scopes = ({ problem }: { problem: string | undefined }) => (
  <fieldset className="flex flex-col gap-2">
    <legend className="pb-1 text-sm font-medium">{newKeyWords.scopes}</legend>
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
      <legend className="pb-1 text-sm font-medium">{newKeyWords.numbers}</legend>
      <CheckField
        name="all numbers"
        label={newKeyWords.allNumbers}
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
