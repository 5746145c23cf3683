/** Links that let a customer into the workspace: made, shown once, revoked. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { PortalSession } from "@messaging-service/client"
import { asked, useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { Answer } from "../ui/Answer.tsx"
import { DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { textOf } from "../ui/forms.tsx"
import { Button, Failure, Secret, Section } from "../ui/parts.tsx"
import { RowButton, Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { portalLinkWords as words } from "./words.ts"

const columnsOf = (revoke: (id: number) => void): Columns<PortalSession> => [
  {
    name: words.role,
    cell: ({ id, role }) => (
      <>
        <span className="font-medium">{role}</span>
        <span className="ml-2 font-mono text-xs text-faint">{id}</span>
      </>
    ),
  },
  { name: words.state, cell: (link) => <LinkState link={link} /> },
  {
    name: words.made,
    wide: true,
    right: true,
    cell: (link) => <When at={link.created_at} how="clock" />,
  },
  {
    name: words.used,
    wide: true,
    right: true,
    cell: ({ used_at: at }) =>
      at === null ? (
        <span className="text-faint">{words.never}</span>
      ) : (
        <When at={at} how="clock" />
      ),
  },
  {
    name: words.actions,
    right: true,
    silent: true,
    cell: ({ id, revoked_at: at }) =>
      at === null && (
        <RowButton aria-label={words.revokeLink(id)} onClick={() => revoke(id)}>
          {words.revoke}
        </RowButton>
      ),
  },
]

export const PortalLinks = ({ id }: { id: number }) => {
  const links = useQuery(
    asked("GET /admin/v1/workspaces/{id}/portal-sessions", { path: { id }, query: { limit: 20 } }),
  )
  const revoke = useCall("DELETE /admin/v1/workspaces/{id}/portal-sessions/{session_id}")
  const [isMaking, setMaking] = useState(false)
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
      {revoke.error && <Failure error={revoke.error} />}
      <Answer query={links}>
        {({ data }) => (
          <Table
            caption={words.caption}
            columns={columnsOf((session_id) => revoke.mutate({ path: { id, session_id } }))}
            rows={data}
            empty={["key", words.empty, words.emptyAbout]}
          />
        )}
      </Answer>
      {isMaking && <MakeLink id={id} close={() => setMaking(false)} />}
    </Section>
  )
}

const LinkState = ({ link }: { link: PortalSession }) => {
  const now = useServiceTime()
  if (link.revoked_at !== null) return <span className="text-soft">{words.revoked}</span>
  if (link.expires_at === null)
    return (
      <span className="text-soft">
        {Date.parse(link.code_expires_at) > now ? words.unused : words.late}
      </span>
    )
  if (Date.parse(link.expires_at) <= now) return <span className="text-soft">{words.over}</span>
  return (
    <span className="text-accent">
      {words.open}
      <When at={link.expires_at} how="clock" />
    </span>
  )
}

const roles = ["owner", "administrator", "member"] as const

const MakeLink = ({ close, id }: { id: number; close: () => void }) => {
  const make = useCall("POST /admin/v1/workspaces/{id}/portal-sessions")
  if (make.data !== undefined)
    return (
      <DoneDialog title={words.make} close={close}>
        <Secret label={words.link} text={make.data.url} />
      </DoneDialog>
    )
  const submit = (data: FormData) => {
    const back = textOf(data, "return url")
    make.mutate({
      path: { id },
      body: {
        role: roles.find((role) => role === textOf(data, "role")) ?? "member",
        expires_in: Number(textOf(data, "minutes")) * 60,
        ...(back === "" ? {} : { return_url: back }),
      },
    })
  }
  return (
    <FormDialog
      title={words.make}
      action={words.action}
      call={make}
      submit={submit}
      close={close}
      fields={[
        {
          name: "role",
          label: words.role,
          defaultValue: "member",
          options: roles.map((role) => [role, words.roleAbout[role]]),
        },
        {
          name: "minutes",
          shows: "expires_in",
          type: "number",
          min: 1,
          max: 1440,
          defaultValue: 60,
          required: true,
          label: words.minutes,
          about: words.minutesAbout,
        },
        {
          name: "return url",
          shows: "return_url",
          type: "url",
          label: words.returnUrl,
          about: words.returnUrlAbout,
        },
      ]}
    />
  )
}
