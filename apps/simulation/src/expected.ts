/** The points that a thousand seeds should reach; unreached ones are gaps of the simulation. */
import type { Coverage } from "./Coverage.ts"

const transportOutcomes = [
  "Accepted",
  "Refused",
  "Refused against the number",
  "Postponed",
  "NotConnected",
  "Unknown",
]

const lookUpOutcomes = ["Checked", "Postponed", "NotConnected", "Unknown"]

const acceptanceGuards = ["allowance", "quota", "number", "idempotency"]

const reminderGuards = ["allowance", "quota", "number", "reminder"]

/** Outcomes that no seed can reach, each with the reason. */
export const outOfReach: ReadonlyArray<readonly [point: string, reason: string]> = [
  ["reminders.run Broken idempotency", "a run has no idempotency key"],
]

const refusals = [
  "no_credits",
  "number_daily_cap_reached",
  "not_cancellable",
  "time_in_past",
  "from_required",
  "number_not_found",
  "idempotency_in_progress",
  "idempotency_key_reused",
  "api_key_revoked",
  "rate_limited",
  "webhook_limit_reached",
  "webhook_not_found",
  "webhook_stopped",
  "event_not_found",
  "contact_not_found",
]

const webhookOutcomes = [
  "insert Broken idempotency",
  "insert Broken key",
  "insert Broken limit",
  "ping Queued",
  "ping Stopped",
  "ping NoEndpoint",
  "redeliver Queued",
  "redeliver Stopped",
  "redeliver NoEvent",
  "redeliver NoEndpoint",
]

const receiverOutcomes = ["webhook", "callback"].flatMap((kind) =>
  ["heard", "refused", "away"].map((outcome) => `receiver ${kind} ${outcome}`),
)
const lineEnds = [
  "connection_lost",
  "restart",
  "logged_out",
  "replaced",
  "restricted",
  "banned",
  "client_outdated",
]

const refusedLines = ["logged_out", "restricted", "banned", "client_outdated"]

const sites = ["good", "flaky", "slow", "missing", "empty", "unresolvable"]

const sharing = ["sessions.write false", "sessions.receive refused", "sessions.beat ended"]

const expected: ReadonlyArray<string> = [
  ...transportOutcomes.map((tag) => `transport ${tag}`),
  ...acceptanceGuards.map((guard) => `messages.accept Broken ${guard}`),
  ...reminderGuards.map((guard) => `reminders.run Broken ${guard}`),
  ...webhookOutcomes.map((outcome) => `webhooks.${outcome}`),
  ...receiverOutcomes,
  ...lookUpOutcomes.map((tag) => `look-up ${tag}`),
  ...lineEnds.map((end) => `line ${end}`),
  ...refusedLines.map((reason) => `turned away ${reason}`),
  ...sites.map((kind) => `site ${kind}`),
  ...sharing,
  ...refusals.map((code) => `refusal ${code}`),
]

/** The expected points that nothing hit. */
export const missingPoints = (coverage: Coverage): ReadonlyArray<string> =>
  coverage.missing(expected)
