/** The receivers of webhooks and callbacks within the service: what each got, and what it answers. */
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useEffect, useRef } from "react"
import type { Receiver, ReceiverCall } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { pollMillis } from "../chats/unreadChats.ts"
import { Answer } from "../ui/Answer.tsx"
import { Button, Copy, Empty, Section } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { Body } from "../webhooks/Body.tsx"
import { exampleReceiver } from "../webhooks/receiverUrl.ts"
import { Segments } from "./Segments.tsx"
import { receiverAnswerLabels, receiverLabels as labels, signatureLabels } from "./words.ts"

const receiversQuery = (id: number) =>
  operationQuery("GET /admin/v1/simulator/workspaces/{id}/receivers", { path: { id } })

export const Receivers = ({
  isPlaced,
  name,
  open,
  workspaceId,
}: {
  workspaceId: string
  /** What is above them has its height. */
  isPlaced: boolean
  /** The one that is open; else the first. */
  name: string | undefined
  open: (name: string) => void
}) => {
  const receivers = useQuery({
    ...receiversQuery(Number(workspaceId)),
    // No event reports a callback, or of a call that hangs.
    refetchInterval: pollMillis,
  })
  const start = useRef<HTMLDivElement>(null)
  // Who comes for one of them sees it; choosing another one moves nothing.
  const comesFor = useRef(name)
  const isThere =
    isPlaced && receivers.data?.data.some((each) => each.name === comesFor.current) === true
  useEffect(() => {
    if (isThere) start.current?.scrollIntoView()
  }, [isThere])
  return (
    <Section title={labels.title} about={labels.about}>
      <Answer query={receivers} rows={2}>
        {({ data }) => {
          const chosen = data.find((each) => each.name === name) ?? data[0]
          if (chosen === undefined) return <None workspaceId={workspaceId} />
          return (
            <div
              ref={start}
              className="grid scroll-mt-24 items-start gap-5 lg:grid-cols-[15rem_minmax(0,1fr)]"
            >
              <List receivers={data} chosen={chosen.name} open={open} />
              <OneReceiver key={chosen.name} receiver={chosen} id={Number(workspaceId)} />
            </div>
          )
        }}
      </Answer>
    </Section>
  )
}

const None = ({ workspaceId }: { workspaceId: string }) => (
  <div className="card">
    <Empty icon="hook" title={labels.empty}>
      <p>
        {labels.emptyAbout[0]}
        <code className="font-mono text-xs break-all">{exampleReceiver}</code>
        {labels.emptyAbout[1]}
        <Link className="underline" to="/w/$workspaceId/webhooks" params={{ workspaceId }}>
          {labels.webhooks}
        </Link>
        {labels.emptyAbout[2]}
      </p>
    </Empty>
  </div>
)

const List = ({
  chosen,
  open,
  receivers,
}: {
  receivers: ReadonlyArray<Receiver>
  chosen: string
  open: (name: string) => void
}) => (
  <nav aria-label={labels.list} className="card min-w-0 overflow-hidden">
    <ul className="max-h-[38rem] overflow-y-auto">
      {receivers.map(({ calls, name }) => (
        <li key={name} className="border-b border-line last:border-0">
          <button
            type="button"
            aria-current={name === chosen ? "true" : undefined}
            onClick={() => open(name)}
            className="flex w-full cursor-pointer items-baseline gap-3 px-3 py-2 text-left hover:bg-sunken aria-[current=true]:bg-accent-wash"
          >
            <span className="min-w-0 font-mono text-xs font-medium break-all">{name}</span>
            <span className="ml-auto text-2xs whitespace-nowrap text-soft">
              {labels.calls(calls)}
            </span>
          </button>
        </li>
      ))}
    </ul>
  </nav>
)

const OneReceiver = ({ id, receiver }: { receiver: Receiver; id: number }) => (
  <section
    aria-label={labels.receiver(receiver.name)}
    className="card flex min-w-0 flex-col gap-4 p-4"
  >
    <header className="flex min-w-0 items-center gap-2">
      <h3 className="min-w-0 font-mono text-sm font-semibold break-all">{receiver.url}</h3>
      <Copy text={receiver.url} />
    </header>
    <HowItAnswers receiver={receiver} path={{ id, name: receiver.name }} />
    <Calls path={{ id, name: receiver.name }} />
  </section>
)

interface ReceiverPath {
  readonly id: number
  readonly name: string
}

type Choice = keyof typeof receiverAnswerLabels

// As texts: an object would put the numbers in their order.
const choices = (["200", "500", "410", "hangs"] as const).map(
  (value) => [value, receiverAnswerLabels[value]] as const,
)

const statuses = { "200": 200, "410": 410, "500": 500 } as const

const HowItAnswers = ({ path, receiver }: { receiver: Receiver; path: ReceiverPath }) => {
  const client = useQueryClient()
  // The next change begins with this answer, also before the list is asked for again.
  const set = useCall("PUT /admin/v1/simulator/workspaces/{id}/receivers/{name}", (changed) =>
    client.setQueryData(receiversQuery(path.id).queryKey, (last) =>
      last === undefined
        ? undefined
        : { data: last.data.map((each) => (each.name === changed.name ? changed : each)) },
    ),
  )
  // What was just pressed shows at once; then the service's own answer.
  const answer = { ...receiver.answer, ...(set.isPending ? set.variables.body : {}) }
  const chosen: Choice = answer.hangs ? "hangs" : `${answer.status}`
  const choose = (value: Choice) =>
    set.mutate({
      path,
      body:
        value === "hangs"
          ? { ...answer, hangs: true }
          : { ...answer, status: statuses[value], hangs: false },
    })
  return (
    <div className="flex max-w-md flex-col gap-2">
      <Segments
        group={`answer-${path.name}`}
        title={labels.answer}
        options={choices}
        chosen={chosen}
        choose={choose}
      />
      <form
        className="flex gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          const body = String(new FormData(event.currentTarget).get("body") ?? "")
          if (!set.isPending) set.mutate({ path, body: { ...answer, body } })
        }}
      >
        <input
          key={receiver.answer.body}
          name="body"
          aria-label={labels.body}
          placeholder={labels.body}
          maxLength={16_384}
          defaultValue={receiver.answer.body}
          className="control min-w-0 grow justify-start font-mono text-xs"
        />
        <Button type="submit">{labels.save}</Button>
      </form>
      {set.error && (
        <p role="alert" className="text-xs text-red">
          {set.error.message}
        </p>
      )}
    </div>
  )
}

const Calls = ({ path }: { path: ReceiverPath }) => {
  const calls = useQuery({
    ...operationQuery("GET /admin/v1/simulator/workspaces/{id}/receivers/{name}/calls", { path }),
    refetchInterval: pollMillis,
  })
  const clear = useCall("DELETE /admin/v1/simulator/workspaces/{id}/receivers/{name}/calls")
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex items-center gap-3">
        <h4 className="label mr-auto">{labels.callsTitle}</h4>
        <Button variant="quiet" busy={clear.isPending} onClick={() => clear.mutate({ path })}>
          {labels.clear}
        </Button>
      </div>
      <Answer query={calls} rows={3}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={labels.noCalls}>{labels.noCallsAbout}</Empty>
          ) : (
            <ul aria-label={labels.callsTitle} className="flex flex-col gap-2">
              {data.map((call) => (
                <OneCall key={call.id} call={call} />
              ))}
            </ul>
          )
        }
      </Answer>
    </div>
  )
}

const OneCall = ({ call }: { call: ReceiverCall }) => {
  const [signed, tone] = signatureLabels[call.signature]
  return (
    <li>
      <details name="calls" className="min-w-0 rounded-lg border border-line">
        <summary className="flex cursor-pointer flex-wrap items-baseline gap-x-3 gap-y-1 px-3 py-2 text-xs">
          <span className="font-medium">{call.type ?? labels.callback}</span>
          <span className="min-w-0 font-mono break-all text-soft">
            {call.method} {call.path}
          </span>
          <span className={tone}>{signed}</span>
          <span className={call.answer.hangs || call.answer.status !== 200 ? "text-red" : ""}>
            {labels.answered(call.answer)}
          </span>
          <span className="ml-auto text-soft">
            <When at={call.at} />
          </span>
        </summary>
        <div className="flex min-w-0 flex-col gap-3 border-t border-line p-3">
          <div className="flex flex-col gap-1">
            <h5 className="text-sm font-medium">{labels.headers}</h5>
            <dl className="flex flex-col gap-0.5 font-mono text-xs">
              {call.headers.map(({ name, value }) => (
                <div key={name} className="flex flex-wrap gap-x-2">
                  <dt className="text-soft">{name}:</dt>
                  <dd className="min-w-0 break-all">{value}</dd>
                </div>
              ))}
            </dl>
          </div>
          <Body label={labels.content} none={labels.noContent} text={call.body} />
        </div>
      </details>
    </li>
  )
}
