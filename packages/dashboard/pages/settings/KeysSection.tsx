/** The keys of a workspace: what each may do, when it was last used, and making and revoking them. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { Key } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { useCall } from "../api/useCall.ts"
import { Answer } from "../ui/Answer.tsx"
import { Confirm } from "../ui/Dialog.tsx"
import { Button, Empty } from "../ui/parts.tsx"
import { Section } from "../ui/Section.tsx"
import { RowButton, Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { NewKey } from "./NewKey.tsx"
import { keyWords as words, scopeWords } from "./words.ts"

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
                  empty={
                    <Empty icon="key" title={words.empty}>
                      {words.emptyAbout}
                    </Empty>
                  }
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
      {revoking !== null && <Revoke id={id} revoked={revoking} close={() => setRevoking(null)} />}
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

const Revoke = ({ close, id, revoked }: { id: number; revoked: Key; close: () => void }) => {
  const revoke = useCall("DELETE /admin/v1/workspaces/{id}/keys/{key_id}", close)
  return (
    <Confirm
      title={words.revokeTitle(revoked.name)}
      action={words.revoke}
      call={revoke}
      act={() => revoke.mutate({ path: { id, key_id: revoked.id } })}
      close={close}
    >
      {words.revokeAbout}
    </Confirm>
  )
}
