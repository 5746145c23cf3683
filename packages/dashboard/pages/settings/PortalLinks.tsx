/** Links that let a customer into the workspace: made, shown once, revoked. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { PortalSession } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall, DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import { Button, Secret, Section } from "../ui/parts.tsx"
import { RowButton, Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { portalLinkLabels as labels } from "./words.ts"

const getColumns = (revoke: (id: number) => void): Columns<PortalSession> => [
  {
    name: labels.role,
    cell: ({ id, role }) => (
      <>
        <span className="font-medium">{role}</span>
        <span className="ml-2 font-mono text-xs text-faint">{id}</span>
      </>
    ),
  },
  { name: labels.state, cell: (link) => <LinkState link={link} /> },
  {
    name: labels.made,
    wide: true,
    right: true,
    cell: (link) => <When at={link.created_at} how="clock" />,
  },
  {
    name: labels.used,
    wide: true,
    right: true,
    cell: ({ used_at: at }) =>
      at === null ? (
        <span className="text-faint">{labels.never}</span>
      ) : (
        <When at={at} how="clock" />
      ),
  },
  {
    name: labels.actions,
    right: true,
    silent: true,
    cell: ({ id, revoked_at: at }) =>
      at === null && (
        <RowButton aria-label={labels.revokeLink(id)} onClick={() => revoke(id)}>
          {labels.revoke}
        </RowButton>
      ),
  },
]

export const PortalLinks = ({ id }: { id: number }) => {
  const links = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/portal-sessions", {
      path: { id },
      query: { limit: 20 },
    }),
  )
  const [revoking, setRevoking] = useState<number | null>(null)
  const [isMaking, setIsCreating] = useState(false)
  const add = <Button onClick={() => setIsCreating(true)}>{labels.make}</Button>
  return (
    <Section title={labels.title} about={labels.about} action={add}>
      <Answer query={links}>
        {({ data }) => (
          <Table
            caption={labels.caption}
            columns={getColumns(setRevoking)}
            rows={data}
            empty={["key", labels.empty, labels.emptyAbout]}
          />
        )}
      </Answer>
      {revoking !== null && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/portal-sessions/{session_id}"
          input={{ path: { id, session_id: revoking } }}
          title={labels.revokeTitle(revoking)}
          action={labels.revoke}
          close={() => setRevoking(null)}
        >
          {labels.revokeAbout}
        </ConfirmCall>
      )}
      {isMaking && <MakeLink id={id} close={() => setIsCreating(false)} />}
    </Section>
  )
}

const LinkState = ({ link }: { link: PortalSession }) => {
  const now = useServiceTime()
  if (link.revoked_at !== null) return <span className="text-soft">{labels.revoked}</span>
  if (link.expires_at === null)
    return (
      <span className="text-soft">
        {Date.parse(link.code_expires_at) > now ? labels.unused : labels.late}
      </span>
    )
  if (Date.parse(link.expires_at) <= now) return <span className="text-soft">{labels.over}</span>
  return (
    <span className="text-accent">
      {labels.open}
      <When at={link.expires_at} how="clock" />
    </span>
  )
}

const roles = ["owner", "administrator", "member"] as const

const MakeLink = ({ close, id }: { id: number; close: () => void }) => {
  const make = useCall("POST /admin/v1/workspaces/{id}/portal-sessions")
  if (make.data !== undefined)
    return (
      <DoneDialog title={labels.make} close={close}>
        <Secret label={labels.link} text={make.data.url} about={labels.linkAbout} />
      </DoneDialog>
    )
  const submit = (data: FormData) => {
    const back = formText(data, "return url")
    make.mutate({
      path: { id },
      body: {
        role: roles.find((role) => role === formText(data, "role")) ?? "member",
        expires_in: Number(formText(data, "minutes")) * 60,
        ...(back === "" ? {} : { return_url: back }),
      },
    })
  }
  return (
    <FormDialog
      title={labels.make}
      action={labels.action}
      call={make}
      submit={submit}
      close={close}
      fields={[
        {
          name: "role",
          label: labels.role,
          defaultValue: "member",
          options: roles.map((role) => [role, labels.roleAbout[role]]),
        },
        {
          name: "minutes",
          shows: "expires_in",
          type: "number",
          min: 1,
          max: 1440,
          defaultValue: 60,
          required: true,
          label: labels.minutes,
          about: labels.minutesAbout,
        },
        {
          name: "return url",
          shows: "return_url",
          type: "url",
          label: labels.returnUrl,
          about: labels.returnUrlAbout,
        },
      ]}
    />
  )
}
