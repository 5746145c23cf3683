/** The words of webhooks. */
import type { Delivery, Webhook } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"

export const webhooksLabels = {
  title: "Webhooks",
  about: "Your programs hear of events at these addresses",
  caption: "Webhook endpoints",
  empty: "No webhook yet",
  emptyAbout:
    "An endpoint of your program receives an event when a message was sent, failed, expired or was cancelled.",
  endpoint: "Endpoint",
  events: "Events",
  state: "State",
  last: "Last delivery",
  none: "none yet",
  active: "active",
  failing: "failing",
  stopped: "stopped",
}

export const stoppedLabels: Readonly<Record<NonNullable<Webhook["disabled_reason"]>, string>> = {
  delivery_failures:
    "Deliveries failed for too long, so the service stopped this endpoint. Repair it, then resume.",
  key_revoked: "The key that made this endpoint was revoked.",
}

export const logLabels = {
  actions: "Actions",
  all: "All webhooks",
  title: (id: number) => `Webhook ${id}`,
  resume: "Resume deliveries",
  caption: "Attempts, the newest first",
  empty: "No attempt yet",
  emptyAbout: "Every attempt to deliver an event appears here.",
  which: "Attempts",
  allAttempts: "All attempts",
  onlyFailed: "Failed only",
  noneFailed: "No attempt failed",
  noneFailedAbout: "Your program accepted every event at once. Attempts are kept for 30 days.",
  missed: "Events that your program has not accepted by now can be delivered again, all at once.",
  event: "Event",
  attempt: "Attempt",
  findAttempt: (attempt: number) => `attempt ${attempt}`,
  answer: "Answer",
  time: "Time",
  again: " · again ",
  show: "Show",
  showAttempt: (event: string, attempt: number) => `Show attempt ${attempt} at event ${event}`,
  redeliver: "Send again",
  redeliverEvent: (event: string) => `Send event ${event} again`,
  queued: (type: string) => `${type} is queued again.`,
  secret: (last4: string) => `secret ends in ${last4}`,
}

const deliveryErrorLabels: Readonly<Record<NonNullable<Delivery["error"]>, string>> = {
  timeout: "no answer in time",
  dns: "the host has no address",
  tls: "the certificate is not valid",
  connection: "no connection",
  blocked_address: "a private address, which is not allowed",
  http_status: "answered with an error",
}

/** What came back from an attempt: the status, or why there is none. */
export const answerLabels = (error: string | null, status: Delivery["response_status"]): string => {
  if (error === null) return String(status ?? "")
  if (error === "http_status" && status !== null) return `answered ${status}`
  const named: Readonly<Record<string, string>> = deliveryErrorLabels
  return named[error] ?? error
}

export const newWebhookLabels = {
  title: buttonNames.addWebhook,
  url: "URL",
  urlAbout: "A public https address of your program, which answers 2xx within 15 seconds.",
  example: "https://shop.example/events",
  description: "Description",
  events: "Events",
  action: "Add the webhook",
  secret: "The secret that signs its events",
  known:
    "The service had this request before, and showed the secret then. Replace the secret to get one.",
}

export const webhookActionLabels = {
  test: "Send a test event",
  tested: "A test event is queued. Its attempt appears below.",
  change: "Change",
  changeAbout: "The secret stays. Later attempts go to the new address.",
  save: "Save",
  rotate: "Replace the secret",
  rotateTitle: "Replace the secret?",
  rotateAbout: "Your program must check events with the new secret from now on.",
  secret: "The new secret",
  remove: "Delete",
  removeTitle: "Delete this webhook?",
  removeAbout: "It receives no more events, and its log goes. This cannot be undone.",
}

export const recoverLabels = {
  title: "Deliver what was missed",
  about:
    "Events since then that your program never accepted are delivered again, the oldest first. What it has accepted is not.",
  since: "Since",
  sinceAbout: "At most 30 days ago. What was missed before then stays missed.",
  sinceMissing: "Choose a day and a time.",
  action: "Deliver again",
  queued: (count: number) =>
    count === 1 ? "1 event is queued again." : `${count} events are queued again.`,
  more: "There are more: do it once more for them.",
}

export const bodyLabels = {
  title: (type: string, attempt: number) => `${type}, attempt ${attempt}`,
  sent: "What was sent",
  answered: "What your program answered",
  erased: "The event is erased.",
  empty: "An empty answer.",
  nothing: "No answer, or one that is not text.",
}

export const eventLabels: Readonly<Record<Webhook["events"][number], string>> = {
  "message.sent": "Sent",
  "message.failed": "Failed",
  "message.cancelled": "Cancelled",
  "message.expired": "Expired",
  "message.delivered": "Delivered",
  "message.read": "Read",
  "number.connected": "Number connected",
  "number.disconnected": "Number disconnected",
  "number.paused": "Number paused",
  "number.resumed": "Number resumed",
}

export const callbacksLabels = {
  title: "Callbacks",
  about: "Calls that messages of version 1 asked for. Their secret is in Settings.",
  back: "All webhooks",
  caption: "Attempts at callbacks, the newest first",
  address: "Address",
  empty: "No callback yet",
  emptyAbout: "A message of version 1 can name an address that hears what became of it.",
}
