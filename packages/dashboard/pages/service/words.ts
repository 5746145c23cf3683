/** The words of the service's page. */
import type { Alert } from "./alerts.ts"

export const serviceLabels = {
  title: "Service",
  version: (version: string) => `Version ${version}`,
  needs: "What needs attention",
  calm: "All is well: the store answers, and work is taken up as it falls due.",
  overTime:
    "Failing requests and messages, slow requests, webhooks that refuse and numbers that fall off show over time. Prometheus watches them with the rules in deploy/prometheus/alerts.yml.",
  severity: { page: "now", ticket: "soon" } as Readonly<Record<Alert["severity"], string>>,
  diskTitle: "The disk for files is short of room",
  diskAbout:
    "New files are refused until it has more than its reserve again. Free some room, or give it a larger disk.",
  backlog: "Backlog",
  queued: "Waiting now",
  scheduled: (count: string) => `${count} scheduled for later`,
  none: "none scheduled",
  oldest: "Oldest on a connected number",
  oldestElsewhere: (span: string) => `${span} on one that is not connected`,
  noneElsewhere: "none on one that is not connected",
  lag: "Behind",
  lagAbout: "since a worker could have taken up a number",
  deliveries: "Webhook deliveries",
  retries: (count: string) => `${count} of them failed before`,
  store: "Store and machine",
  storeState: "Store",
  up: "answers",
  slow: "answers late",
  away: "does not answer",
  disk: "Disk for files",
  noDisk: "none",
  getDisk: (free: string, reserve: string) => `${free} free, ${reserve} kept in reserve`,
  clock: "Clock",
  clockOff: (seconds: string) => `${seconds} s from the database’s`,
  inFlight: "Sending",
  numbersInFlight: (count: string) => `${count} numbers`,
  numbers: "Live numbers",
  simulatedNumbers: "Numbers on simulated phones",
  platform: "Platform",
  connected: "Connected",
  connecting: "Connecting",
  disconnected: "Disconnected",
  platforms: { whatsapp: "WhatsApp", telegram: "Telegram" },
  processes: "Processes",
  processesAbout: "Each reports itself every 15 seconds.",
  name: "Name",
  kind: "Kind",
  kinds: { server: "server", worker: "worker", embedded: "inside a program" },
  holds: "Numbers held",
  everyNumber: "not shared out",
  held: (numbers: string, shards: number) => `${numbers} in ${shards} of 256 shards`,
  seen: "Seen",
  silent: "silent",
  unknown: "–",
}

/** What an alert means, and what to do. */
export const alertTexts: Readonly<
  Record<Alert["name"], { readonly title: string; readonly about: string }>
> = {
  MessagingNoWorker: {
    title: "No worker lives",
    about:
      "No process that does the work has reported itself for 35 seconds. Start one, and see how the last one ended.",
  },
  MessagingNothingIsSent: {
    title: "Nothing is sent",
    about:
      "Messages could go, and no worker takes them. Check whether a worker runs, and what its log says. If one runs and is busy, start another.",
  },
  MessagingStoreAway: {
    title: "The store is away",
    about:
      "Requests fail. Accepted messages are safe, and everything continues when the store answers. Check PostgreSQL, its connections and its disk; of an embedded database the load and the disk of this machine.",
  },
  MessagingClockWrong: {
    title: "A clock is wrong",
    about:
      "Check NTP on this machine and on PostgreSQL’s. Ten seconds apart, the process does nothing.",
  },
  MessagingMessagesGrowOld: {
    title: "Messages grow old on connected numbers",
    about:
      "A number rests: its quota is used up, it is paused, or its workspace is disabled. The number’s page says which.",
  },
  MessagingWorkerDies: {
    title: "A worker died, and no other took over",
    about:
      "Any worker takes over within 30 seconds. Check whether one runs, and look for restarts.",
  },
}
