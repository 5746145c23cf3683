/** The words of the service's page. */
import type { Alert } from "./alerts.ts"

export const serviceLabels = {
  title: "Service",
  version: (version: string) => `Version ${version}`,
  needs: "Needs attention",
  calm: "All good: the store responds and work is on schedule.",
  overTime:
    "Error rates, latency and trends need Prometheus: use the rules in deploy/prometheus/alerts.yml.",
  severity: { page: "urgent", ticket: "warning" } as Readonly<Record<Alert["severity"], string>>,
  diskTitle: "File disk low on space",
  diskAbout:
    "New files are rejected until free space is above the reserve. Free some space or use a larger disk.",
  backlog: "Backlog",
  queued: "Queued",
  scheduled: (count: string) => `${count} scheduled`,
  none: "none scheduled",
  oldest: "Oldest on connected numbers",
  oldestElsewhere: (span: string) => `${span} on disconnected ones`,
  noneElsewhere: "none on disconnected ones",
  lag: "Queue lag",
  lagAbout: "longest wait for a free worker",
  deliveries: "Webhook deliveries",
  retries: (count: string) => `${count} are retries`,
  store: "Store and machine",
  storeState: "Store",
  up: "responding",
  slow: "responding slowly",
  away: "not responding",
  disk: "Disk for files",
  noDisk: "none",
  getDisk: (free: string, reserve: string) => `${free} free, ${reserve} reserved`,
  clock: "Clock",
  clockOff: (seconds: string) => `${seconds} s off the database’s`,
  inFlight: "In flight",
  numbersInFlight: (count: string) => `${count} numbers`,
  numbers: "Live numbers",
  simulatedNumbers: "Numbers on simulated phones",
  platform: "Platform",
  connected: "Connected",
  connecting: "Connecting",
  disconnected: "Disconnected",
  platforms: { whatsapp: "WhatsApp", telegram: "Telegram" },
  processes: "Processes",
  processesAbout: "Each process reports every 15 seconds.",
  name: "Name",
  kind: "Kind",
  kinds: { server: "server", worker: "worker", embedded: "embedded" },
  holds: "Numbers",
  everyNumber: "–",
  held: (numbers: string, shards: number) => `${numbers} (${shards} of 256 shards)`,
  seen: "Last seen",
  silent: "no report",
  unknown: "–",
}

/** What an alert means, and what to do. */
export const alertTexts: Readonly<
  Record<Alert["name"], { readonly title: string; readonly about: string }>
> = {
  MessagingNoWorker: {
    title: "No worker is running",
    about:
      "No worker has reported for 35 seconds. Start one, and check the log for why the last one stopped.",
  },
  MessagingNothingIsSent: {
    title: "Nothing is being sent",
    about:
      "Messages are due and no worker picks them up. Check that one is running, and its log. If it is busy, start another.",
  },
  MessagingStoreAway: {
    title: "The store is down",
    about:
      "Requests fail. Accepted messages are safe, and everything continues when the store responds. Check PostgreSQL, its connections and its disk; with an embedded database, this machine’s load and disk.",
  },
  MessagingClockWrong: {
    title: "Clock skew",
    about:
      "Check NTP on this machine and on PostgreSQL’s. Beyond 10 s of skew the process stops working.",
  },
  MessagingMessagesGrowOld: {
    title: "Old messages on connected numbers",
    about:
      "Its quota is used up, it is paused, or its workspace is disabled. The number’s page says which.",
  },
  MessagingWorkerDies: {
    title: "A dead worker was not replaced",
    about:
      "Any worker takes over within 30 seconds. Check whether one runs, and look for restarts.",
  },
}
