/** Links that let a customer into the workspace: made, shown once, revoked. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { FormEvent } from "react"
import type { PortalSession } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { useCall } from "../api/useCall.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { Answer } from "../ui/Answer.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { FormEnd, SelectField, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { Button, Empty, Failure, Secret } from "../ui/parts.tsx"
import { Section } from "../ui/Section.tsx"
import { Cell, Row, Table, rowButton } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { dialogWords } from "../ui/words.ts"
import { portalLinkWords as words } from "./words.ts"

const columns = [
  { name: words.role },
  { name: words.state },
  { name: words.made, wide: true, right: true },
  { name: words.used, wide: true, right: true },
  { name: words.actions, right: true, silent: true },
] as const

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
        {({ data }) =>
          data.length === 0 ? (
            <div className="card">
              <Empty icon="key" title={words.empty}>
                {words.emptyAbout}
              </Empty>
            </div>
          ) : (
            <Table caption={words.caption} columns={columns}>
              {data.map((link) => (
                <LinkRow
                  key={link.id}
                  link={link}
                  revoke={() => revoke.mutate({ path: { id, session_id: link.id } })}
                />
              ))}
            </Table>
          )
        }
      </Answer>
      {isMaking && <MakeLink id={id} close={() => setMaking(false)} />}
    </Section>
  )
}

const LinkRow = ({ link, revoke }: { link: PortalSession; revoke: () => void }) => (
  <Row>
    <Cell>
      <span className="font-medium">{link.role}</span>
      <span className="ml-2 font-mono text-xs text-faint">{link.id}</span>
    </Cell>
    <Cell>
      <LinkState link={link} />
    </Cell>
    <Cell wide right>
      <When at={link.created_at} how="clock" />
    </Cell>
    <Cell wide right>
      {link.used_at === null ? (
        <span className="text-faint">{words.never}</span>
      ) : (
        <When at={link.used_at} how="clock" />
      )}
    </Cell>
    <Cell right>
      {link.revoked_at === null && (
        <button
          type="button"
          aria-label={words.revokeLink(link.id)}
          onClick={revoke}
          className={rowButton}
        >
          {words.revoke}
        </button>
      )}
    </Cell>
  </Row>
)

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
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
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
  if (make.data !== undefined)
    return (
      <Dialog title={words.make} close={close}>
        <Secret label={words.link} text={make.data.url} />
        <Button look="primary" className="self-end" onClick={close}>
          {dialogWords.done}
        </Button>
      </Dialog>
    )
  return (
    <Dialog title={words.make} close={close}>
      <form className="flex flex-col gap-4" onSubmit={submit}>
        <SelectField name="role" label={words.role} defaultValue="member">
          {roles.map((role) => (
            <option key={role} value={role}>
              {words.roleAbout[role]}
            </option>
          ))}
        </SelectField>
        <TextField
          name="minutes"
          type="number"
          min={1}
          max={1440}
          defaultValue={60}
          required
          label={words.minutes}
          about={words.minutesAbout}
          problem={fieldProblem(make.error, "expires_in")}
        />
        <TextField
          name="return url"
          type="url"
          label={words.returnUrl}
          about={words.returnUrlAbout}
          problem={fieldProblem(make.error, "return_url")}
        />
        <FormEnd
          action={words.action}
          busy={make.isPending}
          error={make.error}
          fields={["expires_in", "return_url"]}
          close={close}
        />
      </form>
    </Dialog>
  )
}
