/** A number's quota, decided by the core from the planned times that this store has sorted. */
import {
  countExactly,
  fitsByBound,
  fullUntil,
  isInBound,
  quotaVerdict,
} from "@messaging-service/core"
import type { ExactQuota, PlannedQuota, QuotaFacts } from "@messaging-service/core"
import type { Lane } from "./World.ts"

/** The planned times of what counts, later than `after`. */
function* plannedAfter(lane: Lane, after: number): Generator<number> {
  for (const { message } of lane.counting.from((row) => row.message.dueAt <= after)) {
    yield message.dueAt
  }
}

const count = (lane: Lane, planned: PlannedQuota): ExactQuota =>
  countExactly(plannedAfter(lane, planned.plannedAt - planned.limit.windowMillis), planned)

/** Counts, and remembers until when the number is full if the new messages find no room. */
export const countAndRemember = (lane: Lane, planned: PlannedQuota, now: number): ExactQuota => {
  const exact = count(lane, planned)
  const { messages, windowMillis } = planned.limit
  if (exact.planned + planned.count > messages) {
    lane.fullUntil = fullUntil(plannedAfter(lane, now - windowMillis), now, planned.limit)
  }
  return exact
}

/** Whether the new messages find room; counts only where the bound does not tell. */
export const hasRoom = (lane: Lane, planned: PlannedQuota, now: number): boolean => {
  lane.quotaWindowMillis = Math.max(lane.quotaWindowMillis, planned.limit.windowMillis)
  const facts = quotaFacts(lane, now, null)
  if (fitsByBound(facts, planned)) return true
  const exact = countAndRemember(lane, planned, now)
  return quotaVerdict({ ...facts, exact }, planned)._tag === "Fits"
}

/** All that is planned within a window before `now` or later. */
const boundAt = (lane: Lane, now: number): number =>
  lane.counting.size -
  lane.counting.count(({ message }) => !isInBound(message.dueAt, now, lane.quotaWindowMillis))

/** What is known of a number's quota without counting against a limit. */
export const quotaFacts = (lane: Lane, now: number, exact: ExactQuota | null): QuotaFacts => ({
  bound: boundAt(lane, now),
  fullUntil: lane.fullUntil,
  exact,
})
