/** `status`: how a service is, on one screen. */
import { MessagingError } from "@messaging-service/client"
import type { OperatorClient } from "@messaging-service/client"
import { command, link, maybe } from "../Command.ts"
import type { Tools } from "../Command.ts"
import { Ended } from "../ending.ts"
import {
  toFigures,
  hasNoWorker,
  isSilent,
  parseMetrics,
  secondsSince,
  troubleOfHeld,
  findTroubles,
} from "../ServiceFigures.ts"
import type { ServiceFigures, Trouble } from "../ServiceFigures.ts"

/** Longest wait for each answer without `--timeout`; readiness itself waits two seconds for the store. */
const longestWaitSeconds = 4

const waitSeconds = ({ common }: Tools): number => common.timeout ?? longestWaitSeconds

/** The answer of an open path; `timeout` when it took too long, null when nothing answers. */
const request = async (base: string, path: string, tools: Tools) => {
  const { machine } = tools
  const late = AbortSignal.timeout(waitSeconds(tools) * 1000)
  try {
    const signal = AbortSignal.any([machine.signal, late])
    const url = `${base.replace(/\/+$/, "")}${path}`
    const response = await machine.fetch(url, { method: "GET", redirect: "error", signal })
    return { status: response.status, body: await response.text() }
  } catch (error) {
    machine.signal.throwIfAborted()
    if (late.aborted) return "timeout"
    if (error instanceof Error) return null
    throw error
  }
}

/** How ready the service is. Checks that it says so itself: any server answers something. */
const readinessBy = async (url: string, tools: Tools): Promise<string> => {
  const answer = await request(url, "/health/ready", tools)
  if (answer === "timeout") {
    const seconds = waitSeconds(tools)
    throw new Ended("unavailable", `${url} did not answer /health/ready within ${seconds} s`)
  }
  const [, status] = /^\{"status":"(ok|full|unavailable)"\}$/.exec(answer?.body.trim() ?? "") ?? []
  if (status === undefined) throw new Ended("unavailable", `no service answers at ${url}`)
  return status
}

/** The text of `/metrics`; empty without an answer, with a remark that says why. */
const metricsBy = async (url: string, tools: Tools): Promise<string> => {
  const answer = await request(url, "/metrics", tools)
  if (answer !== null && answer !== "timeout" && answer.status === 200) return answer.body
  const why =
    answer === "timeout"
      ? `there are no figures: ${url} did not answer /metrics within ${waitSeconds(tools)} s`
      : "there are no figures; with METRICS_PORT name its address with --metrics"
  tools.output.remark(why, { metrics: url })
  return ""
}

/** What the operator API adds, for as long as it answers. */
interface OperatorAnswers {
  /** Null without the token, and without an answer. */
  readonly read: <A>(
    of: (client: OperatorClient, bounds: Bounds) => Promise<A>,
  ) => Promise<A | null>
  /** Its refusal, if any. */
  readonly refusal: () => MessagingError | null
}

interface Bounds {
  readonly timeoutMillis: number
  readonly retries: number
}

const operatorAnswers = (tools: Tools): OperatorAnswers => {
  let failure: MessagingError | null = null
  const hasAnswered = ({ status }: MessagingError) => status !== null && status < 500
  return {
    read: async (of) => {
      // After a failure another question would fail too, and a wrong token would count again.
      if (failure !== null) return null
      try {
        const retries = tools.common.retries ?? 0
        return await of(tools.operator(), { timeoutMillis: waitSeconds(tools) * 1000, retries })
      } catch (error) {
        if (error instanceof Ended && error.ending === "notAllowed") return null
        if (!(error instanceof MessagingError)) throw error
        failure = error
        if (!hasAnswered(error)) {
          tools.output.remark(`the operator's part is missing: ${error.text}`, { code: error.code })
        }
        return null
      }
    },
    refusal: () => (failure !== null && hasAnswered(failure) ? failure : null),
  }
}

/** A refusal of the token in words that say what is missing now. */
const refusalInWords = (error: MessagingError): MessagingError => {
  const tokens: Readonly<Record<string, string>> = {
    invalid_operator_token: "The operator token was refused, so the operator's part is missing.",
    too_many_auth_failures:
      "Too many wrong operator tokens came from this address, so the operator's part is missing. Wait a minute.",
  }
  return new MessagingError({ ...error, text: tokens[error.code] ?? error.text })
}

/** Held messages and reminders of all workspaces. */
const heldBy = ({ read }: OperatorAnswers): Promise<number | null> =>
  read(async ({ store }, bounds) =>
    (await store.held(bounds)).reduce((sum, each) => sum + each.messages + each.reminders, 0),
  )

/** The workers, as the operator API tells them where no `/metrics` does. */
const workersBy = async (
  { read }: OperatorAnswers,
  found: ServiceFigures,
): Promise<ServiceFigures> => {
  if (found.workers_alive !== null) return found
  const serviceFigures = await read(({ figures }, bounds) => figures.service(bounds))
  if (serviceFigures === null || !serviceFigures.store_up) return found
  const observed = serviceFigures.processes.flatMap(({ seen_at, works }) =>
    works ? [secondsSince(seen_at, serviceFigures.now)] : [],
  )
  return {
    ...found,
    workers_alive: observed.filter((since) => !isSilent(since)).length,
    worker_seen_seconds: observed.length === 0 ? null : Math.min(...observed),
  }
}

interface Status extends ServiceFigures {
  readonly service: string
  readonly ready: boolean
  readonly held: number | null
  readonly troubles: ReadonlyArray<Trouble>
}

const seconds = (value: number | null) => (value === null ? null : `${Math.round(value)} s`)

const formatAgo = (value: number | null) => value && `${seconds(value)} ago`

/** Only figures tell the reasons. */
const whyNot = ({ not_ready }: Status): string =>
  not_ready.length > 0 ? not_ready.join(", ") : "its log and its figures say why"

const columns = [
  ["service", ({ service, version }: Status) => `${service} (version ${version ?? "unknown"})`],
  ["ready", (status: Status) => (status.ready ? "yes" : `no: ${whyNot(status)}`)],
  ["store", ({ store_up }: Status) => (store_up === null ? null : store_up ? "up" : "down")],
  ["clock skew", ({ clock_skew_seconds: skew }: Status) => skew && `${skew} s`],
  ["workers alive", "workers_alive"],
  ["last sign of a worker", ({ worker_seen_seconds: lastCount }: Status) => formatAgo(lastCount)],
  ["workers that share live numbers", "workers"],
  ["messages queued", "queued"],
  ["messages scheduled", "scheduled"],
  ["oldest due message", ({ oldest_waiting_seconds: oldest }: Status) => seconds(oldest)],
  ["workers behind by", ({ lane_lag_seconds: lag }: Status) => seconds(lag)],
  [
    "numbers sending now",
    ({ in_flight, leases_run_out }: Status) => in_flight && in_flight - (leases_run_out ?? 0),
  ],
  "numbers",
  ["webhook deliveries pending", "deliveries_pending"],
  ["webhook retries pending", "retries_pending"],
  ["held since a restore", "held"],
] as const

export const statusCommands = [
  command({
    name: "status",
    as: "anyone",
    summary: "Shows the service's health: readiness, backlog, workers, numbers, and what to fix.",
    about:
      "Ends with 6 while the service is not ready, and while no worker is running: each gives a sign of life every 15 seconds,\nand counts as dead 35 seconds after its last. The figures are those of the process that answers, and of its store.\nThe operator token adds what is held since a restore, and the workers where /metrics is not asked.\nEach answer may take 4 seconds, unless --timeout says otherwise.",
    options: {
      metrics: maybe(
        link("Where the process serves /metrics, with METRICS_PORT. Default: the service."),
      ),
    },
    run: async ({ metrics }, tools) => {
      const { output, service } = tools
      const url = service()
      const ready = (await readinessBy(url, tools)) !== "unavailable"
      const figures = toFigures(parseMetrics(await metricsBy(metrics ?? url, tools)))
      const operator = operatorAnswers(tools)
      const found = await workersBy(operator, figures)
      const held = await heldBy(operator)
      const troubles = [...findTroubles(found), ...troubleOfHeld(held)]
      const status: Status = { service: url, ready, ...found, held, troubles }
      output.one(status, columns)
      if (!output.json && tools.common.fields === undefined && status.troubles.length > 0) {
        output.show("\n")
        await output.all(status.troubles, ["trouble", ["what to do", "what_to_do"]])
      }
      const refusal = operator.refusal()
      if (refusal !== null) throw refusalInWords(refusal)
      if (!ready) throw new Ended("unavailable", "the service is not ready")
      if (hasNoWorker(found)) throw new Ended("unavailable", "no worker is running")
    },
  }),
]
