/** One number: its connection in full, its label, pauses, pacing, proxy, and its end. */
import { useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate, useRouteContext } from "@tanstack/react-router"
import { useState } from "react"
import type { Connection, SendingNumber } from "@messaging-service/client"
import { asked, useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Boundary } from "../ui/Boundary.tsx"
import { ConfirmCall } from "../ui/Dialog.tsx"
import { Form, textOf } from "../ui/forms.tsx"
import { Button, Empty, Fact, Failure, PageHead, QueryFailure, Section } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { nameOf } from "./connection.ts"
import type { NumberPath } from "./connection.ts"
import { LogIn } from "./NumberRow.tsx"
import { PacingAndProxy } from "./PacingAndProxy.tsx"
import { endWords, numberWords as words, pauseWords } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/numbers/$numberId")

export const NumberPage = () => {
  const { numberId, workspaceId } = route.useParams()
  const { session } = useRouteContext({ from: "/inside" })
  const path = { id: Number(workspaceId), number_id: Number(numberId) }
  const numbers = useQuery(
    asked("GET /admin/v1/workspaces/{id}/numbers", { path: { id: path.id } }),
  )
  const number = numbers.data?.data.find(({ id }) => id === path.number_id)
  const connection = useQuery({
    ...asked("GET /admin/v1/workspaces/{id}/numbers/{number_id}/connection", { path }),
    enabled: number !== undefined,
  })
  if (number === undefined)
    return (
      <main className="flex max-w-4xl flex-col gap-4 p-4 md:p-6">
        <PageHead title={words.title(path.number_id)} />
        <Answer query={numbers}>{() => <Gone workspaceId={workspaceId} />}</Answer>
      </main>
    )
  const mayChange = session.role !== "member"
  return (
    <main className="flex max-w-4xl flex-col gap-8 p-4 md:p-6">
      <PageHead title={nameOf(number)} about={number.phone === null ? "" : `+${number.phone}`}>
        {mayChange && number.platform === "telegram" && number.status !== "connected" && (
          <LogIn workspaceId={workspaceId} numberId={number.id} />
        )}
        <Link className="control" to="/w/$workspaceId/numbers" params={{ workspaceId }}>
          {words.all}
        </Link>
      </PageHead>
      <QueryFailure error={numbers.error} again={() => void numbers.refetch()} />
      <Answer query={connection}>
        {(data) => <Facts connection={data} showsWorker={session.kind === "operator"} />}
      </Answer>
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

const Gone = ({ workspaceId }: { workspaceId: string }) => (
  <Empty icon="phone" title={words.gone}>
    <Link className="control mt-3" to="/w/$workspaceId/numbers" params={{ workspaceId }}>
      {words.all}
    </Link>
  </Empty>
)

const Facts = ({
  connection,
  showsWorker,
}: {
  connection: Connection
  /** Its name is that of a machine of the operator. */
  showsWorker: boolean
}) => (
  <dl className="card grid grid-cols-2 gap-4 p-4 md:grid-cols-4">
    <Fact name={words.state}>
      {connection.state}
      {connection.reason !== null && ` · ${connection.reason.replaceAll("_", " ")}`}
    </Fact>
    <Fact name={words.since}>
      <When at={connection.since} />
    </Fact>
    <Fact name={words.seen}>
      {connection.last_seen_at === null ? words.never : <When at={connection.last_seen_at} />}
    </Fact>
    <Fact name={words.sent}>{connection.sent_24h.toLocaleString()}</Fact>
    <Fact name={words.waiting}>{connection.waiting.toLocaleString()}</Fact>
    <Fact name={words.nextSend}>
      {connection.next_send_at === null ? words.none : <When at={connection.next_send_at} />}
    </Fact>
    <Fact name={words.reconnects}>{connection.reconnects.toLocaleString()}</Fact>
    {showsWorker && <Fact name={words.worker}>{connection.worker ?? words.noWorker}</Fact>}
  </dl>
)

const Label = ({ number, path }: { number: SendingNumber; path: NumberPath }) => {
  const change = useCall("PATCH /admin/v1/workspaces/{id}/numbers/{number_id}")
  return (
    <Form
      className="card flex flex-col gap-3 p-4"
      action={words.save}
      call={change}
      submit={(data) => change.mutate({ path, body: { label: textOf(data, "label") } })}
      fields={[
        {
          name: "label",
          label: words.label,
          about: words.labelAbout,
          defaultValue: number.label,
          maxLength: 100,
        },
      ]}
    >
      {change.isSuccess && <p role="status">{words.saved}</p>}
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
    const until = textOf(data, "until")
    pause.mutate({
      path,
      body: { until: until === "" ? null : new Date(until).toISOString() },
    })
  }
  return (
    <Section title={pauseWords.title} about={pauseWords.about}>
      {connection?.reason === "paused" ? (
        <div className="card flex flex-wrap items-center gap-3 p-4">
          <p role="status" className="mr-auto">
            {pauseWords.paused}
          </p>
          {resume.error && <Failure error={resume.error} />}
          <Button look="primary" busy={resume.isPending} onClick={() => resume.mutate({ path })}>
            {pauseWords.resume}
          </Button>
        </div>
      ) : (
        <Form
          className="card flex flex-col gap-3 p-4"
          action={pauseWords.pause}
          call={pause}
          submit={submit}
          fields={[
            {
              name: "until",
              type: "datetime-local",
              label: pauseWords.until,
              about: pauseWords.untilAbout,
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
  const [asking, setAsking] = useState<"log out" | "delete" | null>(null)
  const close = () => setAsking(null)
  return (
    <Section title={endWords.title}>
      <div className="flex flex-wrap gap-2">
        {number.status === "connected" && (
          <Button onClick={() => setAsking("log out")}>{endWords.logOut}</Button>
        )}
        <Button look="danger" onClick={() => setAsking("delete")}>
          {endWords.remove}
        </Button>
      </div>
      {asking === "log out" && (
        <ConfirmCall
          name="POST /admin/v1/workspaces/{id}/numbers/{number_id}/logout"
          input={{ path }}
          title={endWords.logOutTitle(nameOf(number))}
          action={endWords.logOut}
          close={close}
        >
          {endWords.logOutAbout}
        </ConfirmCall>
      )}
      {asking === "delete" && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/numbers/{number_id}"
          input={{ path }}
          done={() =>
            navigate({ to: "/w/$workspaceId/numbers", params: { workspaceId: String(path.id) } })
          }
          title={endWords.removeTitle(nameOf(number))}
          action={endWords.remove}
          close={close}
        >
          {endWords.removeAbout(waiting)}
        </ConfirmCall>
      )}
    </Section>
  )
}
