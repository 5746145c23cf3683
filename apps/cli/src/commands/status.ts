/** `status`: how a service is, on one screen. */
import { MessagingError } from "@messaging-service/client"
import type { OperatorClient } from "@messaging-service/client"
import { command, maybe, text } from "../Command.ts"
import type { Tools } from "../Command.ts"
import { Ended } from "../ending.ts"
import {
  figuresOf,
  hasNoWorker,
  isSilent,
  parseMetrics,
  secondsSince,
  troublesOf,
} from "../ServiceFigures.ts"
import type { ServiceFigures, Trouble } from "../ServiceFigures.ts"

/** Longest wait for an open path; readiness itself waits two seconds for the store. */
const longestWaitMillis = 10_000

/** The answer of an open path; null when nothing answers. */
const ask = async (base: string, path: string, { machine }: Tools) => {
  try {
    const signal = AbortSignal.any([machine.signal, AbortSignal.timeout(longestWaitMillis)])
    const url = `${base.replace(/\/+$/, "")}${path}`
    const response = await machine.fetch(url, { method: "GET", redirect: "error", signal })
    return { status: response.status, body: await response.text() }
  } catch (error) {
    machine.signal.throwIfAborted()
    if (error instanceof Error) return null
    throw error
  }
}

/** Whether it says so itself: any server answers something. */
const readinessOf = (answer: Awaited<ReturnType<typeof ask>>): string | null => {
  if (answer === null) return null
  const [, status = null] = /^\{"status":"(ok|full|unavailable)"\}$/.exec(answer.body.trim()) ?? []
  return status
}

/** What the operator learns besides; null without the token. */
const askOperator = async <A>({ operator }: Tools, read: (of: OperatorClient) => Promise<A>) => {
  try {
    return await read(operator())
  } catch (error) {
    if (error instanceof Ended && error.ending === "notAllowed") return null
    // A service that is not ready may not answer this; its figures say why.
    if (error instanceof MessagingError && (error.status === null || error.status >= 500)) {
      return null
    }
    throw error
  }
}

/** Held messages and reminders of all workspaces. */
const heldBy = (tools: Tools): Promise<number | null> =>
  askOperator(tools, async ({ store }) =>
    (await store.held()).reduce((sum, each) => sum + each.messages + each.reminders, 0),
  )

/** The workers, as the operator API tells them where no `/metrics` does. */
const workersBy = async (tools: Tools, found: ServiceFigures): Promise<ServiceFigures> => {
  if (found.workers_alive !== null) return found
  const told = await askOperator(tools, ({ figures }) => figures.service())
  if (told === null || !told.store_up) return found
  const seen = told.processes.flatMap(({ seen_at, works }) =>
    works ? [secondsSince(seen_at, told.now)] : [],
  )
  return {
    ...found,
    workers_alive: seen.filter((since) => !isSilent(since)).length,
    worker_seen_seconds: seen.length === 0 ? null : Math.min(...seen),
  }
}

interface Status extends ServiceFigures {
  readonly service: string
  readonly ready: boolean
  readonly held: number | null
  readonly troubles: ReadonlyArray<Trouble>
}

const seconds = (value: number | null) => (value === null ? null : `${Math.round(value)} s`)

const agoOf = (value: number | null) => value && `${seconds(value)} ago`

/** Only figures tell the reasons. */
const whyNot = ({ not_ready }: Status): string =>
  not_ready.length > 0 ? not_ready.join(", ") : "its log and its figures say why"

const columns = [
  ["service", ({ service, version }: Status) => `${service} (version ${version ?? "unknown"})`],
  ["ready", (status: Status) => (status.ready ? "yes" : `no: ${whyNot(status)}`)],
  ["store", ({ store_up }: Status) => (store_up === null ? null : store_up ? "up" : "away")],
  ["clock skew", ({ clock_skew_seconds: skew }: Status) => skew && `${skew} s`],
  ["workers alive", ({ workers_alive }: Status) => workers_alive],
  ["last sign of a worker", ({ worker_seen_seconds: seen }: Status) => agoOf(seen)],
  ["workers that share live numbers", ({ workers }: Status) => workers],
  ["messages queued", ({ queued }: Status) => queued],
  ["messages scheduled", ({ scheduled }: Status) => scheduled],
  ["oldest due message", ({ oldest_waiting_seconds: oldest }: Status) => seconds(oldest)],
  ["workers behind by", ({ lane_lag_seconds: lag }: Status) => seconds(lag)],
  [
    "numbers sending now",
    ({ in_flight, leases_run_out }: Status) => in_flight && in_flight - (leases_run_out ?? 0),
  ],
  ["numbers", ({ numbers }: Status) => numbers],
  ["webhook deliveries pending", ({ deliveries_pending }: Status) => deliveries_pending],
  ["webhook retries pending", ({ retries_pending }: Status) => retries_pending],
  ["held since a restore", ({ held }: Status) => held],
] as const

const troubleColumns = [
  ["trouble", ({ trouble }: Trouble) => trouble],
  ["what to do", ({ what_to_do }: Trouble) => what_to_do],
] as const

export const statusCommands = [
  command({
    words: "status",
    as: "anyone",
    summary: "Shows how the service is: readiness, backlog, workers, numbers, and what to mend.",
    about:
      "Ends with 6 while the service is not ready, and while no worker lives: each gives a sign of life every 15 seconds,\nand counts as dead 35 seconds after its last. The figures are those of the process that answers, and of its store.\nThe operator token adds what is held since a restore, and the workers where /metrics is not asked.",
    options: {
      metrics: maybe(
        text("URL", "Where the process serves /metrics, with METRICS_PORT. Default: the service."),
      ),
    },
    run: async ({ metrics }, tools) => {
      const { output, service } = tools
      const url = service()
      const health = readinessOf(await ask(url, "/health/ready", tools))
      if (health === null) throw new Ended("unavailable", `no service answers at ${url}`)
      const figures = await ask(metrics ?? url, "/metrics", tools)
      const isThere = figures?.status === 200
      if (!isThere) {
        output.remark("there are no figures; with METRICS_PORT name its address with --metrics", {
          metrics: metrics ?? url,
        })
      }
      const found = await workersBy(tools, figuresOf(parseMetrics(isThere ? figures.body : "")))
      const ready = health !== "unavailable"
      const status: Status = {
        service: url,
        ready,
        ...found,
        held: await heldBy(tools),
        troubles: troublesOf(found),
      }
      output.one(status, columns)
      if (!output.json && tools.common.fields === undefined && status.troubles.length > 0) {
        output.show("\n")
        await output.all(status.troubles, troubleColumns)
      }
      if (!ready) throw new Ended("unavailable", "the service is not ready")
      if (hasNoWorker(found)) throw new Ended("unavailable", "no worker lives")
    },
  }),
]
