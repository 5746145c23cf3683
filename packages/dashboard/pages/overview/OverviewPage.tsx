/** How the workspace does: what needs attention, what left, what failed and why, how long it took. */
import { useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { Figures, FiguresBucket as Bucket } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import type { MessageErrorCode, MessageSearch } from "../messages/messageSearch.ts"
import { Boundary } from "../ui/Boundary.tsx"
import { Columns, Meter } from "../ui/charts.tsx"
import { Figure } from "../ui/Figure.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading, PageHead, QueryFailure } from "../ui/parts.tsx"
import { formatSize } from "../ui/size.ts"
import { span } from "../ui/Time.tsx"
import { Attention } from "./Attention.tsx"
import { ranges } from "./range.ts"
import { failureLabels } from "../messages/words.ts"
import { firstLabels, overviewLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/overview")

export const OverviewPage = () => {
  const { workspaceId } = route.useParams()
  const { range = "24h" } = route.useSearch()
  const path = { id: Number(workspaceId) }
  const figures = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/figures", { path, query: { range } }),
  )
  const { data, error } = figures

  return (
    <main className="page gap-4">
      <PageHead title={labels.title}>
        <nav aria-label={labels.span} className="flex rounded-md bg-sunken p-0.5">
          {ranges.map((one) => (
            <Link
              key={one}
              to="/w/$workspaceId/overview"
              params={{ workspaceId }}
              search={one === "24h" ? {} : { range: one }}
              activeOptions={{ exact: true, includeSearch: true }}
              data-on={one === range}
              className="flex h-7 items-center rounded px-2.5 text-xs text-soft hover:text-ink data-[on=true]:bg-raised data-[on=true]:font-medium data-[on=true]:text-ink data-[on=true]:shadow-card"
            >
              {labels.ranges[one]}
            </Link>
          ))}
        </nav>
      </PageHead>
      <QueryFailure error={error} again={() => void figures.refetch()} />
      <Attention workspaceId={workspaceId} figures={data} />
      {data === undefined && !error && <Loading />}
      {data && (
        <Boundary of={data}>
          <Whole workspaceId={workspaceId} figures={data} />
        </Boundary>
      )}
    </main>
  )
}

const sum = (buckets: ReadonlyArray<Bucket>, of: (bucket: Bucket) => number): number =>
  buckets.reduce((total, bucket) => total + of(bucket), 0)

/** Neither in this span nor in the one before, and nothing waits. */
const hasNothing = ({ before, buckets, waiting }: Figures): boolean =>
  sum(buckets, ({ accepted, failed, sent }) => accepted + failed + sent) +
    before.accepted +
    before.failed +
    waiting.queued +
    waiting.scheduled ===
  0

const Whole = ({ figures, workspaceId }: { figures: Figures; workspaceId: string }) => {
  const { buckets, failures } = figures
  const { session } = useRouteContext({ from: "/inside" })
  const isQuiet = hasNothing(figures)
  const messages = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/messages", {
      path: { id: Number(workspaceId) },
      query: { limit: 1 },
    }),
    enabled: isQuiet,
  })
  if (isQuiet && messages.data === undefined) return null
  if (isQuiet && messages.data?.data.length === 0) return <FirstSteps workspaceId={workspaceId} />
  const at = buckets.map((bucket) => bucket.at)
  const column = (of: (bucket: Bucket) => number) => buckets.map(of)
  return (
    <>
      <Headline figures={figures} workspaceId={workspaceId} />
      <section className="card p-4">
        <Columns
          title={labels.ended}
          at={at}
          series={[
            { name: labels.seriesFailed, tone: "bg-mark-red", values: column((one) => one.failed) },
            {
              name: labels.seriesGone,
              tone: "bg-mark-soft",
              values: column((one) => one.expired + one.cancelled),
            },
            { name: labels.seriesSent, tone: "bg-mark", values: column((one) => one.sent) },
          ]}
        />
      </section>
      <div className="grid gap-4 md:grid-cols-2 md:*:last:odd:col-span-2">
        <Failures failures={failures} workspaceId={workspaceId} />
        {session.role !== "member" && (
          <Deliveries at={at} buckets={buckets} workspaceId={workspaceId} />
        )}
        <Left figures={figures} />
      </div>
    </>
  )
}

const whenWaiting = ({ queued, scheduled }: Figures["waiting"]): string => {
  if (scheduled > 0) return labels.scheduled(scheduled.toLocaleString())
  return queued === 0 ? "" : labels.allDue
}

const Headline = ({
  figures: { before, buckets, wait_p50_ms: median, waiting },
  workspaceId,
}: {
  figures: Figures
  workspaceId: string
}) => {
  const toList = (status: MessageSearch["status"]) => ({
    params: { workspaceId },
    search: { status },
  })
  const sent = sum(buckets, (bucket) => bucket.sent)
  const failed = sum(buckets, (bucket) => bucket.failed)
  const failedPart = ((failed / Math.max(1, sent + failed)) * 100).toFixed(1)
  return (
    <dl className="card grid grid-cols-2 gap-px overflow-hidden bg-line md:grid-cols-4">
      <Figure
        name={labels.sent}
        about={change(sent, before.sent)}
        list={toList(["sent", "delivered", "read"])}
      >
        {sent.toLocaleString()}
      </Figure>
      <Figure
        name={labels.failed}
        about={sent + failed === 0 ? labels.nothingEnded : labels.ofAll(failedPart)}
        tone={failed > 0 ? "text-red" : ""}
        list={toList(["failed"])}
      >
        {failed.toLocaleString()}
      </Figure>
      <Figure
        name={labels.waiting}
        about={whenWaiting(waiting)}
        list={toList(["queued", "scheduled"])}
      >
        {(waiting.queued + waiting.scheduled).toLocaleString()}
      </Figure>
      <Figure name={labels.dueToSent} about={labels.median}>
        {median === null ? "–" : span(median)}
      </Figure>
    </dl>
  )
}

const Failures = ({
  failures,
  workspaceId,
}: {
  failures: Figures["failures"]
  workspaceId: string
}) => (
  <section className="card flex flex-col gap-3 p-4">
    <h2 className="text-sm font-semibold">{labels.whyFailed}</h2>
    {failures.length === 0 ? (
      <p className="flex items-center gap-2 text-soft">
        <Icon name="tick" className="text-accent" />
        {labels.noneFailed}
      </p>
    ) : (
      <ul className="flex flex-col gap-2.5">
        {failures.map(({ code, count }) => (
          <li key={code} className="flex flex-col gap-1">
            <div className="flex justify-between text-sm">
              <Link
                to="/w/$workspaceId/messages"
                params={{ workspaceId }}
                search={{ error: code as MessageErrorCode }}
                className="hover:underline"
              >
                {(failureLabels as Readonly<Record<string, string>>)[code] ?? code}
              </Link>
              <span className="font-semibold tabular-nums">{count.toLocaleString()}</span>
            </div>
            <div className="h-1.5 rounded-full bg-sunken">
              <div
                className="h-full rounded-full bg-mark-red"
                style={{ width: `${(count / (failures[0]?.count ?? count)) * 100}%` }}
              />
            </div>
          </li>
        ))}
      </ul>
    )}
  </section>
)

const Deliveries = ({
  at,
  buckets,
  workspaceId,
}: {
  at: ReadonlyArray<string>
  buckets: ReadonlyArray<Bucket>
  workspaceId: string
}) => {
  const webhooks = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/webhooks", { path: { id: Number(workspaceId) } }),
  )
  const hasNone = webhooks.data?.data.every(({ active }) => !active) ?? false
  return (
    <section className="card p-4">
      {sum(buckets, ({ deliveries }) => deliveries) === 0 ? (
        <>
          <h2 className="text-sm font-semibold">{labels.deliveries}</h2>
          <p className="pt-3 text-soft">{hasNone ? labels.noWebhook : labels.noDelivery}</p>
        </>
      ) : (
        <Columns
          title={labels.deliveries}
          height="h-24"
          at={at}
          series={[
            {
              name: labels.seriesFailed,
              tone: "bg-mark-red",
              values: buckets.map((one) => one.deliveries_failed),
            },
            {
              name: labels.seriesDelivered,
              tone: "bg-mark",
              values: buckets.map((one) => one.deliveries - one.deliveries_failed),
            },
          ]}
        />
      )}
    </section>
  )
}

/** What the plan still gives. */
const Left = ({ figures: { allowance, storage } }: { figures: Figures }) => (
  <section aria-labelledby="what-is-left" className="card flex flex-col gap-3 p-4">
    <h2 id="what-is-left" className="text-sm font-semibold">
      {labels.left}
    </h2>
    <dl className="flex flex-col gap-3 text-sm">
      <div className="flex justify-between gap-3">
        <dt className="text-soft">{labels.allowance}</dt>
        <dd className={`tabular-nums ${allowance.remaining === 0 ? "text-red" : ""}`}>
          {allowance.remaining === null
            ? labels.unlimited
            : labels.messagesLeft(allowance.remaining.toLocaleString())}
        </dd>
      </div>
      <div className="flex flex-wrap justify-between gap-x-3 gap-y-1.5">
        <dt className="text-soft">{labels.storage}</dt>
        <dd className="tabular-nums">
          {labels.used(formatSize(storage.used_bytes), formatSize(storage.limit_bytes))}
        </dd>
        <dd className="w-full">
          <Meter label={labels.storage} limit={storage.limit_bytes} value={storage.used_bytes} />
        </dd>
      </div>
    </dl>
  </section>
)

const change = (now: number, before: number): string => {
  if (before === 0) return now === 0 ? labels.same : labels.noneInSpan
  const part = Math.round(((now - before) / before) * 100)
  return part === 0 ? labels.same : labels.change(part)
}

const link = "font-medium text-accent hover:underline"

/** Where a step is done. */
const ways = {
  emulator: firstLabels.emulator,
  "messages/new": firstLabels.newMessage,
  messages: firstLabels.messages,
  numbers: firstLabels.numbers,
} as const

/** What to do in a workspace that has sent nothing yet, in three steps. */
const FirstSteps = ({ workspaceId }: { workspaceId: string }) => {
  const { session } = useRouteContext({ from: "/inside" })
  const params = { workspaceId }
  const wayTo = (to: keyof typeof ways) => (
    <Link key={to} to={`/w/$workspaceId/${to}`} params={params} className={link}>
      {ways[to]}
    </Link>
  )
  const steps: ReadonlyArray<readonly [title: string, about: string, way: ReactNode]> =
    session.kind === "operator" && session.simulated
      ? [
          [firstLabels.send, firstLabels.sendSimulated, wayTo("emulator")],
          [firstLabels.arrive, firstLabels.arriveSimulated, wayTo("emulator")],
          [firstLabels.breakIt, firstLabels.breakSimulated, wayTo("emulator")],
        ]
      : session.role === "member"
        ? [
            [firstLabels.send, firstLabels.sendMember, wayTo("messages/new")],
            [firstLabels.arrive, firstLabels.arriveLive, wayTo("messages")],
            [firstLabels.why, firstLabels.whyMember, wayTo("messages")],
          ]
        : [
            [firstLabels.send, firstLabels.sendLive, wayTo("messages/new")],
            [firstLabels.arrive, firstLabels.arriveLive, wayTo("messages")],
            [firstLabels.breakIt, firstLabels.breakLive, wayTo("numbers")],
          ]
  return (
    <section aria-labelledby="first-steps" className="card flex flex-col gap-4 p-4 md:p-6">
      <h2 id="first-steps" className="text-lg font-semibold">
        {firstLabels.title}
      </h2>
      <ol className="grid gap-4 md:grid-cols-3">
        {steps.map(([title, about, way], index) => (
          <li key={title} className="flex flex-col gap-1.5">
            <span
              className="grid size-7 place-items-center rounded-full bg-accent-wash text-sm font-semibold text-accent"
              aria-hidden="true"
            >
              {index + 1}
            </span>
            <p className="font-medium">{title}</p>
            <p className="text-sm text-soft">{about}</p>
            <p className="text-sm">{way}</p>
          </li>
        ))}
      </ol>
    </section>
  )
}
