/** Counting a number's planned messages. This store always counts exactly: it has them sorted. */
import type { ExactQuota, PlannedQuota, QuotaFacts } from "@messaging-service/core"
import type { Lane } from "./World.ts"

const plannedIn = (lane: Lane, after: number, upTo: number): number =>
  lane.counting.count((row) => row.message.dueAt <= upTo) -
  lane.counting.count((row) => row.message.dueAt <= after)

/** The number's messages in (plannedAt - window, plannedAt], and when there is room. */
const countPlanned = (lane: Lane, planned: PlannedQuota): ExactQuota => {
  const { plannedAt, count, limit } = planned
  const { windowMillis, messages } = limit
  const inWindow = (at: number) => plannedIn(lane, at - windowMillis, at)
  const now = inWindow(plannedAt)
  if (now + count <= messages) return { planned: now, roomAt: plannedAt }
  // Room appears only when a message leaves the window.
  const inSight = lane.counting.from((row) => row.message.dueAt <= plannedAt - windowMillis)
  for (const { message } of inSight) {
    const at = message.dueAt + windowMillis
    if (inWindow(at) + count <= messages) return { planned: now, roomAt: at }
  }
  return { planned: now, roomAt: plannedAt + windowMillis }
}

/**
 * Counts, and remembers when the window of this very moment has no room for one more message. A
 * full window that lies ahead says nothing about the time until then.
 */
export const countAndRemember = (lane: Lane, planned: PlannedQuota, now: number): ExactQuota => {
  const exact = countPlanned(lane, planned)
  lane.quotaWindowMillis = Math.max(lane.quotaWindowMillis, planned.limit.windowMillis)
  if (planned.plannedAt <= now && exact.planned >= planned.limit.messages) {
    lane.fullUntil =
      planned.count === 1 ? exact.roomAt : countPlanned(lane, { ...planned, count: 1 }).roomAt
  }
  return exact
}

/** What is known of a number's quota without counting against a limit. */
export const quotaFacts = (lane: Lane, now: number, exact: ExactQuota | null): QuotaFacts => ({
  bound: plannedIn(lane, now - lane.quotaWindowMillis, Number.POSITIVE_INFINITY),
  fullUntil: lane.fullUntil,
  exact,
})
