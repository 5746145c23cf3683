/** The words of webhooks. */
import type { Delivery, Webhook } from "@messaging-service/client"

export const webhooksLabels = {
  title: "Webhooks",
  about: "Endpoints that receive events",
  caption: "Webhook endpoints",
  empty: "No webhooks yet",
  emptyAbout:
    "An endpoint receives an event when a message is sent, fails, expires or is cancelled.",
  endpoint: "Endpoint",
  events: "Events",
  state: "Status",
  last: "Last delivery",
  none: "none yet",
  active: "active",
  failing: "failing",
  stopped: "stopped",
}

export const stoppedLabels: Readonly<Record<NonNullable<Webhook["disabled_reason"]>, string>> = {
  delivery_failures: "Stopped: deliveries failed for too long. Fix your endpoint, then resume.",
  key_revoked: "Stopped: the key that created it was revoked.",
}

export const logLabels = {
  actions: "Actions",
  all: "All webhooks",
  title: (id: number) => `Webhook ${id}`,
  receiver: "Open in the emulator",
  resume: "Resume deliveries",
  caption: "Attempts, newest first",
  empty: "No attempts yet",
  emptyAbout: "Every delivery attempt appears here.",
  which: "Attempts",
  allAttempts: "All attempts",
  onlyFailed: "Failed only",
  noneFailed: "No failed attempts",
  noneFailedAbout: "Your endpoint accepted every event. Attempts are kept for 30 days.",
  missed: "You can redeliver all events that your endpoint has not accepted.",
  event: "Event",
  attempt: "Attempt",
  findAttempt: (attempt: number) => `attempt ${attempt}`,
  answer: "Response",
  time: "Time",
  again: " · retry ",
  show: "View",
  showAttempt: (event: string, attempt: number) => `View attempt ${attempt} of event ${event}`,
  redeliver: "Redeliver",
  redeliverEvent: (event: string) => `Redeliver event ${event}`,
  queued: (type: string) => `${type} is queued for redelivery.`,
  secret: (last4: string) => `secret ends in ${last4}`,
  events: (names: ReadonlyArray<string>) => `Receives ${names.join(", ")}`,
}

const deliveryErrorLabels: Readonly<Record<NonNullable<Delivery["error"]>, string>> = {
  timeout: "timed out",
  dns: "host not found",
  tls: "invalid certificate",
  connection: "connection failed",
  blocked_address: "private address blocked",
  http_status: "HTTP error",
}

/** What came back from an attempt: the status, or why there is none. */
export const answerLabels = (error: string | null, status: Delivery["response_status"]): string => {
  if (error === null) return String(status ?? "")
  if (error === "http_status" && status !== null) return `HTTP ${status}`
  const named: Readonly<Record<string, string>> = deliveryErrorLabels
  return named[error] ?? error
}

export const webhookActionLabels = {
  test: "Send test event",
  tested: "Test event queued. Its attempt appears below.",
  change: "Edit",
  changeAbout: "The secret stays the same. Later attempts use the new URL.",
  save: "Save",
  rotate: "Rotate secret",
  rotateTitle: "Rotate the secret?",
  rotateAbout: "Verify events with the new secret from now on.",
  secret: "New signing secret",
  remove: "Delete",
  removeTitle: "Delete this webhook?",
  removeAbout: "It stops receiving events and its log is deleted. This cannot be undone.",
}

export const recoverLabels = {
  title: "Redeliver missed events",
  about: "Redelivers events since then that your endpoint has not accepted, oldest first.",
  since: "Since",
  sinceAbout: "At most 30 days ago.",
  sinceMissing: "Choose a day and a time.",
  action: "Redeliver",
  queued: (count: number) =>
    count === 1 ? "1 event queued for redelivery." : `${count} events queued for redelivery.`,
  more: "More remain. Run it again.",
}

export const bodyLabels = {
  title: (type: string, attempt: number) => `${type}, attempt ${attempt}`,
  sent: "Request",
  answered: (answer: string) => `Response: ${answer}`,
  erased: "The event is erased.",
  empty: "Empty response.",
  nothing: "No response, or not text.",
}

export const callbacksLabels = {
  title: "Callbacks",
  about: "Requested by version 1 messages. Their secret is in Settings.",
  back: "All webhooks",
  caption: "Callback attempts, newest first",
  address: "URL",
  empty: "No callbacks yet",
  emptyAbout: "A version 1 message can name a URL that is called with its result.",
}
