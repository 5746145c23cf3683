/** The keys of a workspace: what each may do, when it was last used, and making and revoking them. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { CreateKey, Key } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { toName } from "../numbers/connection.ts"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall, DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { CheckField, formText } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { Button, Secret, Section } from "../ui/parts.tsx"
import { RowButton, Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { useConversations } from "./conversations.ts"
import {
  chatScopeLabels,
  keyLabels,
  keyLabels as labels,
  newKeyLabels,
  scopeLabels,
} from "./words.ts"

const never = <span className="text-soft">{labels.never}</span>

const allScopeLabels = { ...scopeLabels, ...chatScopeLabels }

/** Version 1 has no chats, so its keys lack nothing. */
const toScopes = ({ scopes: allowed, version }: Key, hasChats: boolean): string => {
  if (!scopes.every((scope) => allowed.includes(scope)))
    return allowed.map((scope) => allScopeLabels[scope][0]).join(", ")
  const missing = allScopes.filter((scope) => !allowed.includes(scope))
  if (!hasChats || version === 1 || missing.length === 0) return labels.everything
  return labels.allBut(missing.map((scope) => allScopeLabels[scope][0]))
}

const Ends = ({ of: { expires_at: at } }: { of: Key }) =>
  at === null ? never : <When at={at} how="clock" />

const getColumns = (revoke: (key: Key) => void, hasChats: boolean): Columns<Key> => [
  {
    name: labels.name,
    cell: (key) => (
      <>
        <span className="font-medium">{key.name}</span>
        <span className="ml-2 font-mono text-xs text-faint">…{key.last4}</span>
        <Marks of={key} />
        <span className="block text-xs whitespace-normal text-soft md:hidden">
          {labels.scopes}: {toScopes(key, hasChats)} · {labels.ends}: <Ends of={key} />
        </span>
      </>
    ),
  },
  {
    name: labels.scopes,
    wide: true,
    cell: (key) => toScopes(key, hasChats),
  },
  {
    name: labels.numbers,
    wide: true,
    cell: (key) =>
      key.limited_to_numbers ? labels.someNumbers(key.number_ids.length) : labels.allNumbers,
  },
  {
    name: labels.lastUse,
    wide: true,
    cell: ({ last_used_at: at }) => (at === null ? never : <When at={at} />),
  },
  {
    name: labels.ends,
    wide: true,
    cell: (key) => <Ends of={key} />,
  },
  {
    name: labels.actions,
    right: true,
    silent: true,
    cell: (key) =>
      key.revoked_at === null && (
        <RowButton aria-label={labels.revokeKey(key.name)} onClick={() => revoke(key)}>
          {labels.revoke}
        </RowButton>
      ),
  },
]

export const KeysSection = ({ id, isOwner }: { id: number; isOwner: boolean }) => {
  const keys = useQuery(operationQuery("GET /admin/v1/workspaces/{id}/keys", { path: { id } }))
  const { data: conversations } = useConversations(id)
  const [isMaking, setIsCreating] = useState(false)
  const [revoking, setRevoking] = useState<Key | null>(null)
  const [showsRevoked, setShowsRevoked] = useState(false)
  const add = (
    <Button variant="primary" onClick={() => setIsCreating(true)}>
      {labels.make}
    </Button>
  )
  return (
    <Section title={labels.title} about={labels.about} action={add}>
      <Answer query={keys}>
        {({ data }) => {
          const revoked = data.filter(({ revoked_at: at }) => at !== null)
          const visible = data.filter(({ revoked_at: at }) => at === null || showsRevoked)
          return (
            <div className="flex flex-col items-start gap-2">
              <div className="w-full">
                <Table
                  caption={labels.caption}
                  columns={getColumns(setRevoking, conversations != null)}
                  rows={visible.toReversed()}
                  empty={["key", labels.empty, labels.emptyAbout, add]}
                />
              </div>
              {revoked.length > 0 && !showsRevoked && (
                <Button variant="quiet" onClick={() => setShowsRevoked(true)}>
                  {labels.showRevoked(revoked.length)}
                </Button>
              )}
            </div>
          )
        }}
      </Answer>
      {isMaking && <NewKey id={id} isOwner={isOwner} close={() => setIsCreating(false)} />}
      {revoking !== null && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/keys/{key_id}"
          input={{ path: { id, key_id: revoking.id } }}
          title={labels.revokeTitle(revoking.name)}
          action={labels.revoke}
          close={() => setRevoking(null)}
        >
          {labels.revokeAbout}
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
    key.mode === "test" && labels.test,
    key.version === 1 && labels.version1,
    key.revoked_at !== null && labels.revoked,
    key.revoked_at === null && isExpired && labels.expired,
  ].filter((mark) => mark !== false)
  return marks.map((mark) => (
    <span key={mark} className="ml-2 rounded-full bg-sunken px-2 py-0.5 text-2xs text-soft">
      {mark}
    </span>
  ))
}

type Version2Key = Extract<CreateKey, { version: 2 }>
type Scope = keyof typeof allScopeLabels

const scopes = Object.keys(scopeLabels) as ReadonlyArray<Scope>
const allScopes = Object.keys(allScopeLabels) as ReadonlyArray<Scope>

const lifetimes: ReadonlyArray<NonNullable<Version2Key["expires_in"]>> = ["30d", "90d", "1y"]

/** The request that the form describes. */
const toKey = (data: FormData): CreateKey => {
  if (formText(data, "version") === "1") return { version: 1 }
  const chosen = allScopes.filter((scope) => data.has(`scope ${scope}`))
  const numbers = data.getAll("number").map(Number)
  return {
    version: 2,
    name: formText(data, "name"),
    mode: formText(data, "mode") === "test" ? "test" : "live",
    scopes: chosen,
    number_ids: data.has("all numbers") ? null : numbers,
    expires_in: lifetimes.find((one) => one === formText(data, "expires")) ?? null,
  }
}

/** Makes a key: its scopes, explained, its numbers and its end; then shows it once. */
const NewKey = ({
  close,
  id,
  isOwner,
}: {
  id: number
  /** Administrators only create keys of version 1. */
  isOwner: boolean
  close: () => void
}) => {
  const [version, setVersion] = useState(isOwner ? "2" : "1")
  const make = useCall("POST /admin/v1/workspaces/{id}/keys")
  if (make.data !== undefined)
    return (
      <DoneDialog title={newKeyLabels.title} close={close}>
        <Secret label={keyLabels.made} text={make.data.key} />
      </DoneDialog>
    )
  return (
    <FormDialog
      title={newKeyLabels.title}
      action={newKeyLabels.action}
      call={make}
      submit={(data) => make.mutate({ path: { id }, body: toKey(data) })}
      close={close}
      fields={[
        {
          name: "version",
          label: newKeyLabels.version,
          value: version,
          change: setVersion,
          options: [
            ...(isOwner ? [["2", newKeyLabels.version2] as const] : []),
            ["1", newKeyLabels.version1],
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
    label: newKeyLabels.name,
    about: newKeyLabels.nameAbout,
    required: true,
    maxLength: 50,
    autoFocus: true,
  },
  [
    {
      name: "mode",
      label: newKeyLabels.mode,
      options: [
        ["live", newKeyLabels.live],
        ["test", newKeyLabels.test],
      ],
    },
    { name: "expires", label: newKeyLabels.expires, options: newKeyLabels.lifetimes },
  ],
  { shows: "scopes", draw: (problem) => <Scopes id={id} problem={problem} /> },
  { shows: "number_ids", draw: (problem) => <Numbers id={id} problem={problem} /> },
]

const Scopes = ({ id, problem }: { id: number; problem: string | undefined }) => {
  const conversations = useConversations(id)
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="pb-1 text-sm font-medium">{newKeyLabels.scopes}</legend>
      <div className="grid gap-3 sm:grid-cols-2">
        {(conversations.data == null ? scopes : allScopes).map((scope) => (
          <CheckField
            key={scope}
            name={`scope ${scope}`}
            label={allScopeLabels[scope][0]}
            about={allScopeLabels[scope][1]}
            defaultChecked
          />
        ))}
      </div>
      <Problem text={problem} />
    </fieldset>
  )
}

const Problem = ({ text }: { text: string | undefined }) =>
  text !== undefined && (
    <p role="alert" className="text-xs text-red">
      {text}
    </p>
  )

const Numbers = ({ id, problem }: { id: number; problem: string | undefined }) => {
  const [all, setAll] = useState(true)
  const numbers = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }),
  )
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="pb-1 text-sm font-medium">{newKeyLabels.numbers}</legend>
      <CheckField
        name="all numbers"
        label={newKeyLabels.allNumbers}
        checked={all}
        onChange={(event) => setAll(event.target.checked)}
      />
      {!all &&
        numbers.data?.data.map((number) => (
          <CheckField key={number.id} name="number" value={number.id} label={toName(number)} />
        ))}
      <Problem text={problem} />
    </fieldset>
  )
}
