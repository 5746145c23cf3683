/** `status`: how a service is, on one screen. */
import { MessagingError } from "@messaging-service/client"
import { command, maybe, text } from "../Command.ts"
import type { Tools } from "../Command.ts"
import { Ended } from "../ending.ts"
import { figuresOf, parseMetrics, troublesOf } from "../ServiceFigures.ts"
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

/** Held messages and reminders of all workspaces; null without the operator token. */
const heldBy = async ({ operator }: Tools): Promise<number | null> => {
  try {
    const workspaces = await operator().store.held()
    return workspaces.reduce((sum, each) => sum + each.messages + each.reminders, 0)
  } catch (error) {
    if (error instanceof Ended && error.ending === "notAllowed") return null
    // A service that is not ready may not answer this; its figures say why.
    if (error instanceof MessagingError && (error.status === null || error.status >= 500)) {
      return null
    }
    throw error
  }
}

interface Status extends ServiceFigures {
  readonly service: string
  readonly ready: boolean
  readonly held: number | null
  readonly troubles: ReadonlyArray<Trouble>
}

const seconds = (value: number | null) => (value === null ? null : `${Math.round(value)} s`)

const columns = [
  ["service", ({ service, version }: Status) => `${service} (version ${version ?? "unknown"})`],
  ["ready", ({ not_ready, ready }: Status) => (ready ? "yes" : `no: ${not_ready.join(", ")}`)],
  ["store", ({ store_up }: Status) => (store_up === null ? null : store_up ? "up" : "away")],
  ["clock skew", ({ clock_skew_seconds: skew }: Status) => skew && `${skew} s`],
  ["workers that share live numbers", ({ workers }: Status) => workers],
  ["messages queued", ({ queued }: Status) => queued],
  ["messages scheduled", ({ scheduled }: Status) => scheduled],
  ["oldest due message", ({ oldest_waiting_seconds: oldest }: Status) => seconds(oldest)],
  ["workers behind by", ({ lane_lag_seconds: lag }: Status) => seconds(lag)],
  ["numbers sending now", ({ in_flight }: Status) => in_flight],
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
      "Ends with 6 while the service is not ready. The figures are those of the process that answers, and of\nits store. The operator token adds what is held since a restore.",
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
      const found = figuresOf(parseMetrics(isThere ? figures.body : ""))
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
    },
  }),
]
