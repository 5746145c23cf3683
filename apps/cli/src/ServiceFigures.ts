/** What `/metrics` of a service says, and what follows for its operator. */

/** A gauge or a counter of the text format, with its labels. */
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const sampleLine = /^(\w+)(?:\{(.*)\})? (\S+)$/

/** The samples of a text in the format of Prometheus. */
export const parseMetrics = (text: string): ReadonlyArray<Sample> =>
  text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = sampleLine.exec(line) ?? []
    if (name === undefined || line.startsWith("#")) return []
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
    return [
      {
        name,
        labels: Object.fromEntries(pairs.map(([, key = "", of = ""]) => [key, of])),
        value: Number(value),
      },
    ]
  })

/** The figures of one process, and those of its store; null where it names none. */
export interface ServiceFigures {
  readonly version: string | null
  readonly not_ready: ReadonlyArray<string>
  readonly store_up: boolean | null
  readonly store_risks: ReadonlyArray<string>
  readonly clock_skew_seconds: number | null
  readonly workers: number | null
  /** Processes that do the work and gave a sign of life in the last 35 seconds. */
  readonly workers_alive: number | null
  /** Since the latest of these signs; null without one. */
  readonly worker_seen_seconds: number | null
  readonly queued: number | null
  readonly scheduled: number | null
  readonly oldest_waiting_seconds: number | null
  readonly lane_lag_seconds: number | null
  readonly in_flight: number | null
  /** Those of them with a dead worker, until another takes over. */
  readonly leases_run_out: number | null
  readonly deliveries_pending: number | null
  readonly retries_pending: number | null
  /** Live numbers by their state. */
  readonly numbers: Readonly<Record<string, number>> | null
}

export const toFigures = (samples: ReadonlyArray<Sample>): ServiceFigures => {
  const all = (name: string) => samples.filter((sample) => sample.name === `messaging_${name}`)
  const one = (name: string, labels: Readonly<Record<string, string>> = {}): number | null =>
    all(name).find((sample) =>
      Object.entries(labels).every(([label, of]) => sample.labels[label] === of),
    )?.value ?? null
  const active = (name: string, label: string) =>
    all(name).flatMap(({ labels, value }) => (value === 1 ? [labels[label] ?? ""] : []))
  const up = one("store_up")
  const numbers = all("numbers")
  return {
    version: all("build_info")[0]?.labels["version"] ?? null,
    not_ready: active("not_ready", "reason"),
    store_up: up === null ? null : up === 1,
    store_risks: active("store_risk", "risk"),
    clock_skew_seconds: one("clock_skew_seconds"),
    workers: one("workers"),
    workers_alive: one("workers_alive"),
    worker_seen_seconds: one("worker_seen_seconds"),
    queued: one("messages_waiting", { status: "queued" }),
    scheduled: one("messages_waiting", { status: "scheduled" }),
    oldest_waiting_seconds: one("oldest_waiting_seconds", { connection: "connected" }),
    lane_lag_seconds: one("lane_lag_seconds"),
    in_flight: one("lanes_in_flight"),
    leases_run_out: one("leases_run_out"),
    deliveries_pending: one("webhook_deliveries_pending"),
    retries_pending: one("webhook_retries_pending"),
    numbers:
      numbers.length === 0
        ? null
        : numbers.reduce<Record<string, number>>((sum, { labels, value }) => {
            const status = labels["status"] ?? ""
            return { ...sum, [status]: (sum[status] ?? 0) + value }
          }, {}),
  }
}

/** Something to fix, and how. */
export interface Trouble {
  readonly trouble: string
  readonly what_to_do: string
}

const ofNotReady: Readonly<Record<string, Trouble>> = {
  store: {
    trouble: "the store does not answer, or takes no writes",
    what_to_do: "check PostgreSQL, its connections and its disk; accepted messages are safe",
  },
  disk: {
    trouble: "nothing more can be written to the disk",
    what_to_do: "see that DATA_DIR exists and can be written, and that its disk has room",
  },
  clock: {
    trouble: "the clock is too far from the database's",
    what_to_do: "check NTP on that machine and on PostgreSQL's",
  },
  store_behind: {
    trouble: "the store went back in time",
    what_to_do:
      "if it was restored: messaging store restored; if that was said and it stays so, repeat it with --above ID",
  },
}

const ofRisk: Readonly<Record<string, Trouble>> = {
  asynchronous_commit: {
    trouble: "PostgreSQL acknowledges commits that it has not synced",
    what_to_do: "set synchronous_commit to on",
  },
  asynchronous_standby: {
    trouble: "no standby is synchronous, so a fail-over loses the last commits",
    what_to_do: "set synchronous_standby_names, or accept that",
  },
}

/** A process that reports itself every 15 s and did not for so long counts as dead. */
const silentSeconds = 35

/** Seconds since a process's last sign of life, by the service's clock. */
export const secondsSince = (seenAt: string, now: string): number =>
  (Date.parse(now) - Date.parse(seenAt)) / 1000

export const isSilent = (since: number): boolean => since >= silentSeconds

/** Whether nothing does the work; false while that is unknown. */
export const hasNoWorker = ({ workers_alive }: ServiceFigures): boolean => workers_alive === 0

const noWorker = ({ worker_seen_seconds: lastCount }: ServiceFigures): Trouble => ({
  trouble:
    lastCount === null
      ? "no worker is running, so nothing is sent"
      : `no worker is running, so nothing is sent: the last sign of one came ${Math.round(lastCount)} s ago`,
  what_to_do: "start a worker, and see in its log how the last one ended",
})

/** What waits for the operator's decision since a restore; `held` is null while that is unknown. */
export const troubleOfHeld = (held: number | null): ReadonlyArray<Trouble> =>
  held === null || held === 0
    ? []
    : [
        {
          trouble: `${held} messages and reminders are held since a restore`,
          what_to_do: decideAboutHeld,
        },
      ]

/** The next command after a restore. */
export const decideAboutHeld =
  "messaging held workspaces lists them; then messaging held release or held cancel: docs/operating.md, Backup"

/** Thresholds of the alerts in docs/monitoring.md. */
const limits = { skewSeconds: 2, lagSeconds: 60, waitSeconds: 3600 } as const

/** What an operator would fix, worst first. */
export const findTroubles = (figures: ServiceFigures): ReadonlyArray<Trouble> => {
  const { clock_skew_seconds: skew, lane_lag_seconds: lag } = figures
  const named = (catalogue: Readonly<Record<string, Trouble>>, names: ReadonlyArray<string>) =>
    names.map((name) => catalogue[name] ?? { trouble: name, what_to_do: "check the service's log" })
  const found = [...named(ofNotReady, figures.not_ready)]
  if (figures.store_up === false && !figures.not_ready.includes("store")) {
    found.push(...named(ofNotReady, ["store"]))
  }
  if (
    skew !== null &&
    Math.abs(skew) > limits.skewSeconds &&
    !figures.not_ready.includes("clock")
  ) {
    found.push(...named(ofNotReady, ["clock"]))
  }
  if (hasNoWorker(figures)) found.push(noWorker(figures))
  else if ((figures.leases_run_out ?? 0) > 0) {
    found.push({
      trouble: `the worker of ${figures.leases_run_out} numbers died while they were sending`,
      what_to_do: "another takes over within 30 s; if none does, check the workers' logs",
    })
  }
  if ((lag ?? 0) > limits.lagSeconds && !hasNoWorker(figures)) {
    found.push({
      trouble: `messages could go, and for ${Math.round(lag ?? 0)} s no worker takes them`,
      what_to_do: "check whether a worker runs and what its log says, or start another",
    })
  }
  if ((figures.oldest_waiting_seconds ?? 0) > limits.waitSeconds) {
    found.push({
      trouble: "messages grow old on connected numbers",
      what_to_do: "messaging numbers connection ID --workspace ID says why one waits",
    })
  }
  if ((figures.numbers?.["disconnected"] ?? 0) > 0) {
    found.push({
      trouble: `${figures.numbers?.["disconnected"]} numbers are disconnected`,
      what_to_do: "messaging numbers list --workspace ID shows them; link each again",
    })
  }
  return [...found, ...named(ofRisk, figures.store_risks)]
}
