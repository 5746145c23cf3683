/** What a thousand seeds should reach; what they do not is a gap of the simulation. */
import type { Coverage } from "./Coverage.ts"

const transportOutcomes = [
  "Accepted",
  "Refused",
  "Refused against the number",
  "Postponed",
  "NotConnected",
  "Unknown",
]

const acceptanceGuards = ["allowance", "quota", "number", "idempotency"]

const reminderGuards = [...acceptanceGuards, "reminder"]

const refusals = [
  "no_credits",
  "number_daily_cap_reached",
  "not_cancellable",
  "time_in_past",
  "from_required",
  "number_not_found",
  "idempotency_in_progress",
]

const expected: ReadonlyArray<string> = [
  ...transportOutcomes.map((tag) => `transport ${tag}`),
  ...acceptanceGuards.map((guard) => `MessageStore.accept Broken ${guard}`),
  ...reminderGuards.map((guard) => `ReminderStore.run Broken ${guard}`),
  ...refusals.map((code) => `refusal ${code}`),
]

/** The expected points that nothing hit. */
export const missingPoints = (coverage: Coverage): ReadonlyArray<string> =>
  coverage.missing(expected)
