/**
 * The alerts of docs/monitoring.md, judged by the service's present figures. A rule file for Prometheus has the same
 * thresholds, and waits for some minutes besides; the page shows at once what has passed one.
 */
import type { ServiceFigures } from "@messaging-service/client"

export interface Alert {
  /** As the rule file calls it. */
  readonly name: keyof typeof thresholds
  readonly severity: "page" | "ticket"
  /** What is compared with the threshold; null while the service does not tell. */
  value(figures: ServiceFigures): number | null
}

/** An alert shows above its threshold. */
export const thresholds = {
  MessagingNoWorker: 0,
  MessagingNothingIsSent: 60,
  MessagingStoreAway: 0,
  MessagingClockWrong: 2,
  MessagingMessagesGrowOld: 3600,
  MessagingWorkerDies: 0,
} as const

/** A process that reports itself every 15 s and did not for so long has died, or cannot reach the store. */
export const silentMillis = 35_000

const isAlive = ({ now }: ServiceFigures, seenAt: string) =>
  Date.parse(now) - Date.parse(seenAt) < silentMillis

export const alerts: ReadonlyArray<Alert> = [
  {
    name: "MessagingNoWorker",
    severity: "page",
    value: (figures) => {
      if (!figures.store_up) return null
      return figures.processes.some((one) => one.works && isAlive(figures, one.seen_at)) ? 0 : 1
    },
  },
  {
    name: "MessagingNothingIsSent",
    severity: "page",
    value: (figures) => figures.lane_lag_seconds,
  },
  {
    name: "MessagingStoreAway",
    severity: "page",
    value: (figures) => (figures.store_up || figures.store_slow ? 0 : 1),
  },
  {
    name: "MessagingClockWrong",
    severity: "page",
    value: (figures) => Math.abs(figures.clock_skew_seconds),
  },
  {
    name: "MessagingMessagesGrowOld",
    severity: "ticket",
    value: (figures) => figures.oldest_waiting_seconds?.connected ?? null,
  },
  {
    name: "MessagingWorkerDies",
    severity: "ticket",
    value: (figures) => figures.leases_run_out,
  },
]

/** Alerts about rates or about the last hour: present figures cannot tell them. */
export const alertsOverTime: ReadonlyArray<string> = [
  "MessagingRequestsFail",
  "MessagingMessagesFail",
  "MessagingNumbersFallOff",
  "MessagingWebhooksNotAttempted",
  "MessagingWebhooksRefused",
  "MessagingRequestsSlow",
]

/** What has passed its threshold, the worst first. */
export const raisedBy = (figures: ServiceFigures): ReadonlyArray<Alert> =>
  alerts
    .filter((alert) => (alert.value(figures) ?? 0) > thresholds[alert.name])
    .toSorted((a, b) => (a.severity === b.severity ? 0 : a.severity === "page" ? -1 : 1))

export const isDiskShort = ({ disk }: ServiceFigures): boolean =>
  disk !== null && disk.free_bytes < disk.reserve_bytes
