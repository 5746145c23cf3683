/** One number: its connection in full, its label, pauses, pacing, proxy, and its end. */
import { useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Connection, SendingNumber } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Boundary } from "../ui/Boundary.tsx"
import { ConfirmCall } from "../ui/Dialog.tsx"
import { Form, formText } from "../ui/forms.tsx"
import {
  Button,
  Empty,
  Fact,
  Failure,
  PageHead,
  QueryFailure,
  Section,
  backLink,
} from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { parseFieldTime } from "../ui/zone.ts"
import { getStanding, toName } from "./connection.ts"
import type { NumberPath } from "./connection.ts"
import { LogIn, StandingWord } from "./NumberRow.tsx"
import { PacingAndProxy } from "./PacingAndProxy.tsx"
import { Restrictions } from "./Restrictions.tsx"
import { StandingSentence } from "./StandingSentence.tsx"
import { endLabels, numberLabels as labels, pauseLabels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/numbers/$numberId")

export const NumberPage = () => {
  const { numberId, workspaceId } = route.useParams()
  const { session } = useRouteContext({ from: "/inside" })
  const path = { id: Number(workspaceId), number_id: Number(numberId) }
  const numbers = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id: path.id } }),
  )
  const number = numbers.data?.data.find(({ id }) => id === path.number_id)
  const connection = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/numbers/{number_id}/connection", { path }),
    enabled: number !== undefined,
  })
  if (number === undefined)
    return (
      <main className="page gap-4">
        <PageHead title={labels.title(path.number_id)} />
        <Answer query={numbers}>{() => <Missing workspaceId={workspaceId} />}</Answer>
      </main>
    )
  const mayChange = session.role !== "member"
  return (
    <main className="page gap-8">
      <PageHead title={toName(number)} about={number.phone === null ? "" : `+${number.phone}`}>
        <Link className={backLink} to="/w/$workspaceId/numbers" params={{ workspaceId }}>
          {labels.all}
        </Link>
        {mayChange && number.platform === "telegram" && number.status !== "connected" && (
          <LogIn workspaceId={workspaceId} numberId={number.id} />
        )}
      </PageHead>
      <QueryFailure error={numbers.error} again={() => void numbers.refetch()} />
      <Answer query={connection}>
        {(data) => (
          <Facts number={number} connection={data} hasWorker={session.kind === "operator"} />
        )}
      </Answer>
      {number.platform === "whatsapp" && <Restrictions path={path} />}
      {mayChange && <Label number={number} path={path} />}
      {mayChange && (
        <Boundary of={connection.data}>
          <PauseSection connection={connection.data} path={path} />
        </Boundary>
      )}
      {session.kind === "operator" && <PacingAndProxy path={path} />}
      {mayChange && (
        <EndOfNumber number={number} path={path} waiting={connection.data?.waiting ?? 0} />
      )}
    </main>
  )
}

const Missing = ({ workspaceId }: { workspaceId: string }) => (
  <Empty icon="phone" title={labels.gone}>
    <Link className="control mt-3" to="/w/$workspaceId/numbers" params={{ workspaceId }}>
      {labels.all}
    </Link>
  </Empty>
)

const Facts = ({
  connection,
  hasWorker,
  number,
}: {
  number: SendingNumber
  connection: Connection
  /** Its name is that of a machine of the operator. */
  hasWorker: boolean
}) => (
  <dl className="card grid grid-cols-2 gap-4 p-4 md:grid-cols-4">
    <State number={number} connection={connection} />
    <Fact name={labels.since}>
      <When at={connection.since} />
    </Fact>
    <Fact name={labels.seen}>
      {connection.last_seen_at === null ? labels.never : <When at={connection.last_seen_at} />}
    </Fact>
    <Fact name={labels.sent}>{connection.sent_24h.toLocaleString()}</Fact>
    <Fact name={labels.waiting}>{connection.waiting.toLocaleString()}</Fact>
    <Fact name={labels.nextSend}>
      {connection.next_send_at === null ? labels.none : <When at={connection.next_send_at} />}
    </Fact>
    <Fact name={labels.reconnects}>{connection.reconnects.toLocaleString()}</Fact>
    {hasWorker && <Fact name={labels.worker}>{connection.worker ?? labels.noWorker}</Fact>}
  </dl>
)

const State = ({ connection, number }: { number: SendingNumber; connection: Connection }) => {
  const standing = getStanding(number, connection)
  return (
    <Fact name={labels.state}>
      <span className="block py-0.5">
        <StandingWord standing={standing} />
      </span>
      {standing.message !== null && (
        <span className="block whitespace-normal text-soft">
          <StandingSentence standing={standing} state={connection} />
        </span>
      )}
    </Fact>
  )
}

const Label = ({ number, path }: { number: SendingNumber; path: NumberPath }) => {
  const change = useCall("PATCH /admin/v1/workspaces/{id}/numbers/{number_id}")
  return (
    <Form
      className="card flex flex-col gap-3 p-4"
      action={labels.save}
      call={change}
      submit={(data) => change.mutate({ path, body: { label: formText(data, "label") } })}
      fields={[
        {
          name: "label",
          label: labels.label,
          about: labels.labelAbout,
          defaultValue: number.label,
          maxLength: 100,
        },
      ]}
    >
      {change.isSuccess && <p role="status">{labels.saved}</p>}
    </Form>
  )
}

/** Pauses a number until a time or until it is resumed. */
const PauseSection = ({
  connection,
  path,
}: {
  connection: Connection | undefined
  path: NumberPath
}) => {
  const pause = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/pause")
  const resume = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/resume")
  const submit = (data: FormData) => {
    pause.mutate({ path, body: { until: parseFieldTime(formText(data, "until")) } })
  }
  return (
    <Section title={pauseLabels.title} about={pauseLabels.about}>
      {connection?.reason === "paused" ? (
        <div className="card flex flex-wrap items-center gap-3 p-4">
          <p role="status" className="mr-auto">
            {pauseLabels.paused}
          </p>
          {resume.error && <Failure error={resume.error} />}
          <Button variant="primary" busy={resume.isPending} onClick={() => resume.mutate({ path })}>
            {pauseLabels.resume}
          </Button>
        </div>
      ) : (
        <Form
          className="card flex flex-col gap-3 p-4"
          action={pauseLabels.pause}
          call={pause}
          submit={submit}
          fields={[
            {
              name: "until",
              type: "datetime-local",
              label: pauseLabels.until,
              about: pauseLabels.untilAbout,
            },
          ]}
        />
      )}
    </Section>
  )
}

/** Logs a number out, or deletes it; both ask first and name what they hit. */
const EndOfNumber = ({
  number,
  path,
  waiting,
}: {
  number: SendingNumber
  path: NumberPath
  /** Messages that deleting it cancels. */
  waiting: number
}) => {
  const navigate = useNavigate()
  const [requesting, setIsConfirming] = useState<"log out" | "delete" | null>(null)
  const close = () => setIsConfirming(null)
  return (
    <Section title={endLabels.title}>
      <div className="flex flex-wrap gap-2">
        {number.status === "connected" && (
          <Button onClick={() => setIsConfirming("log out")}>{endLabels.logOut}</Button>
        )}
        <Button variant="danger" onClick={() => setIsConfirming("delete")}>
          {endLabels.remove}
        </Button>
      </div>
      {requesting === "log out" && (
        <ConfirmCall
          name="POST /admin/v1/workspaces/{id}/numbers/{number_id}/logout"
          input={{ path }}
          title={endLabels.logOutTitle(toName(number))}
          action={endLabels.logOut}
          close={close}
        >
          {endLabels.logOutAbout}
        </ConfirmCall>
      )}
      {requesting === "delete" && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/numbers/{number_id}"
          input={{ path }}
          done={() =>
            navigate({ to: "/w/$workspaceId/numbers", params: { workspaceId: String(path.id) } })
          }
          title={endLabels.removeTitle(toName(number))}
          action={endLabels.remove}
          close={close}
        >
          {endLabels.removeAbout(waiting)}
        </ConfirmCall>
      )}
    </Section>
  )
}
