/** How the service does, for its operator: what needs attention, the backlog, the store and the processes. */
import { useQuery } from "@tanstack/react-query"
import { useRouteContext } from "@tanstack/react-router"
import type { Process, ServiceFigures } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Figure } from "../ui/Figure.tsx"
import { Fact, PageHead, Section } from "../ui/parts.tsx"
import { formatSize } from "../ui/size.ts"
import { Table, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When, span } from "../ui/Time.tsx"
import { isDiskShort, raisedBy, silentMillis } from "./alerts.ts"
import { alertTexts, serviceLabels as labels } from "./words.ts"

/** As often as the service reads its figures. */
const refreshMillis = 5000

export const ServicePage = () => {
  const figures = useQuery({
    ...operationQuery("GET /admin/v1/figures", {}),
    refetchInterval: refreshMillis,
  })
  return (
    <main className="page gap-6">
      <PageHead title={labels.title} about={figures.data && labels.version(figures.data.version)} />
      <Answer query={figures}>{(found) => <Health figures={found} />}</Answer>
    </main>
  )
}

const Health = ({ figures }: { figures: ServiceFigures }) => (
  <div className="flex flex-col gap-6">
    <Needs figures={figures} />
    {figures.waiting !== null && <Backlog figures={figures} />}
    <StoreAndMachine figures={figures} />
    {figures.numbers !== null && <Numbers numbers={figures.numbers} />}
    {figures.processes.length > 0 && <Processes now={figures.now} processes={figures.processes} />}
  </div>
)

interface Need {
  readonly key: string
  readonly label: string
  readonly tone: string
  readonly title: string
  readonly about: string
}

const red = "bg-red-wash text-red"
const amber = "bg-amber-wash text-amber"

const getNeeds = (figures: ServiceFigures): ReadonlyArray<Need> => [
  ...raisedBy(figures).map(({ name, severity }) => ({
    key: name,
    label: labels.severity[severity],
    tone: severity === "page" ? red : amber,
    ...alertTexts[name],
  })),
  ...(isDiskShort(figures)
    ? [
        {
          key: "disk",
          label: labels.severity.ticket,
          tone: amber,
          title: labels.diskTitle,
          about: labels.diskAbout,
        },
      ]
    : []),
]

const Needs = ({ figures }: { figures: ServiceFigures }) => {
  const needs = getNeeds(figures)
  return (
    <section aria-label={labels.needs} className="flex flex-col gap-2">
      {needs.length === 0 ? (
        <p className="card flex min-h-11 items-center gap-2.5 px-4 py-2 text-soft">
          <span className="size-2 shrink-0 rounded-full bg-mark" aria-hidden="true" />
          {labels.calm}
        </p>
      ) : (
        <ul className="card">
          {needs.map(({ about, key, tone, title, label }) => (
            <li
              key={key}
              className="flex flex-wrap items-baseline gap-x-3 gap-y-1 border-b border-line px-4 py-2.5 last:border-0"
            >
              <span className={`rounded-full px-2 py-1 text-xs font-medium ${tone}`}>{label}</span>
              <p className="min-w-0 flex-1 basis-64">
                <span className="font-medium">{title}</span>{" "}
                <span className="text-soft">{about}</span>
              </p>
            </li>
          ))}
        </ul>
      )}
      <p className="text-xs text-faint">{labels.overTime}</p>
    </section>
  )
}

const formatSpan = (seconds: number | undefined | null): string =>
  span(Math.round((seconds ?? 0) * 1000))

const Backlog = ({ figures }: { figures: ServiceFigures }) => {
  const { oldest_waiting_seconds: oldest, waiting } = figures
  const scheduled = waiting?.scheduled ?? 0
  const elsewhere = oldest?.not_connected ?? 0
  return (
    <Section title={labels.backlog}>
      <dl className="card grid grid-cols-2 gap-px overflow-hidden bg-line md:grid-cols-4">
        <Figure
          name={labels.queued}
          about={scheduled === 0 ? labels.none : labels.scheduled(scheduled.toLocaleString())}
        >
          {(waiting?.queued ?? 0).toLocaleString()}
        </Figure>
        <Figure
          name={labels.oldest}
          about={
            elsewhere === 0 ? labels.noneElsewhere : labels.oldestElsewhere(formatSpan(elsewhere))
          }
        >
          {oldest?.connected ? formatSpan(oldest.connected) : labels.unknown}
        </Figure>
        <Figure name={labels.lag} about={labels.lagAbout}>
          {formatSpan(figures.lane_lag_seconds)}
        </Figure>
        <Figure
          name={labels.deliveries}
          about={labels.retries((figures.webhook_retries_pending ?? 0).toLocaleString())}
        >
          {(figures.webhook_deliveries_pending ?? 0).toLocaleString()}
        </Figure>
      </dl>
    </Section>
  )
}

const StoreAndMachine = ({ figures }: { figures: ServiceFigures }) => {
  const { clock_skew_seconds: skew, disk, lanes_in_flight: inFlight, store_up: isUp } = figures
  const late = figures.store_slow ? labels.slow : labels.away
  return (
    <Section title={labels.store}>
      <dl className="card grid gap-x-6 gap-y-3 p-4 md:grid-cols-2">
        <Fact name={labels.storeState}>
          <span className={isUp ? "" : "font-medium text-red"}>{isUp ? labels.up : late}</span>
        </Fact>
        <Fact name={labels.disk}>
          {disk === null
            ? labels.noDisk
            : labels.getDisk(formatSize(disk.free_bytes), formatSize(disk.reserve_bytes))}
        </Fact>
        <Fact name={labels.clock}>{labels.clockOff(Math.abs(skew).toFixed(1))}</Fact>
        <Fact name={labels.inFlight}>
          {inFlight === null ? labels.unknown : labels.numbersInFlight(inFlight.toLocaleString())}
        </Fact>
      </dl>
    </Section>
  )
}

type Counts = NonNullable<ServiceFigures["numbers"]>

interface Platform {
  readonly id: "whatsapp" | "telegram"
  readonly numbers: Counts
}

const getCount =
  (status: Counts[number]["status"]) =>
  ({ id, numbers }: Platform): string =>
    (
      numbers.find((one) => one.platform === id && one.status === status)?.count ?? 0
    ).toLocaleString()

const numberColumns: Columns<Platform> = [
  { name: labels.platform, cell: ({ id }) => labels.platforms[id] },
  { name: labels.connected, right: true, cell: getCount("connected") },
  { name: labels.connecting, right: true, cell: getCount("connecting") },
  { name: labels.disconnected, right: true, cell: getCount("disconnected") },
]

const Numbers = ({ numbers }: { numbers: Counts }) => {
  const { session } = useRouteContext({ from: "/inside" })
  const title = session.simulated ? labels.simulatedNumbers : labels.numbers
  const rows = (["whatsapp", "telegram"] as const).map((id) => ({ id, numbers }))
  return (
    <Section title={title}>
      <Table caption={title} columns={numberColumns} rows={rows} />
    </Section>
  )
}

const processColumns = (now: string): Columns<Process> => [
  { name: labels.name, tone: mono, cell: ({ name }) => name },
  { name: labels.kind, cell: ({ kind }) => labels.kinds[kind] },
  {
    name: labels.holds,
    wide: true,
    cell: ({ numbers_held: numbers, shards_held: shards }) =>
      numbers === null ? labels.everyNumber : labels.held(numbers.toLocaleString(), shards ?? 0),
  },
  {
    name: labels.seen,
    right: true,
    cell: ({ seen_at: at }) => (
      <>
        {Date.parse(now) - Date.parse(at) >= silentMillis && (
          <span className="mr-2 text-amber">{labels.silent}</span>
        )}
        <When at={at} />
      </>
    ),
  },
]

const Processes = ({ now, processes }: { now: string; processes: ReadonlyArray<Process> }) => (
  <Section title={labels.processes} about={labels.processesAbout}>
    <Table
      caption={labels.processes}
      columns={processColumns(now)}
      rows={processes.map((one) => ({ ...one, id: one.name }))}
    />
  </Section>
)
