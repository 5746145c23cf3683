/**
 * The log of deliveries is true: each attempt in it happened, attempts continue until one succeeds, and
 * none is missing once faults have ended.
 */
import type { History } from "../History.ts"
import { getEndpoints, getNotifications } from "./endpoints.ts"
import type { JudgedPromise } from "./Promise.ts"

const maximumAttempts = { webhook: 9, callback: 4 } as const

/** A process that must end exits in calm, and another one replaces it. */
const restartMillis = 60_000

/** Endpoints that run to the end with calls in calm that the log lacks. */
const missing = (history: History): ReadonlyArray<string> => {
  const calm = history.entries.find(({ _tag }) => _tag === "Calm")?.at ?? Infinity
  const allWell = calm + restartMillis
  return getEndpoints(history).flatMap(({ changes, revocations, notifications, url }) => {
    if (revocations.length > 0 || (changes.RemoveEndpoint ?? []).length > 0) return []
    const calls = notifications.filter(({ calledAt }) => calledAt > allWell).length
    const lines = history.final.attempts.filter(
      (attempt) => attempt.url === url && attempt.attemptedAt > allWell,
    ).length
    return lines < calls ? [`${url} was called ${calls} times in calm and logged ${lines}`] : []
  })
}

export const logged: JudgedPromise = {
  name: "delivery log",
  check: (history) => {
    const violations: Array<string> = [...missing(history)]
    const { attempts } = history.final
    const created = Map.groupBy(
      getNotifications(history),
      ({ eventId, url }) => `${url} ${eventId}`,
    )
    const stopped = new Set(
      getEndpoints(history).flatMap(({ revocations, url }) =>
        revocations.length > 0 ? [url] : [],
      ),
    )
    for (const [key, log] of Map.groupBy(attempts, ({ eventId, url }) => `${url} ${eventId}`)) {
      const calls = created.get(key) ?? []
      const kind = calls[0]?.kind ?? "webhook"
      const heard = calls.filter((call) => call.heard).length
      if (log.length > calls.length) {
        violations.push(`${key} has ${log.length} attempts in the log of ${calls.length} calls`)
      }
      if (log.filter(({ delivered }) => delivered).length > heard) {
        violations.push(`${key} is logged as delivered more often than the ${heard} times it was`)
      }
      const max = Math.max(...log.map(({ attempt }) => attempt))
      if (max > maximumAttempts[kind]) violations.push(`${key} has an attempt ${max}`)
      for (const { attempt, delivered, isLast } of log) {
        if (delivered && !isLast) violations.push(`${key} is to be told again after its delivery`)
        if (!delivered && isLast && attempt < maximumAttempts[kind]) {
          const isRepeated = log.length > attempt
          if (!stopped.has(log[0]?.url ?? "") && !isRepeated) {
            violations.push(`${key} was given up after attempt ${attempt}`)
          }
        }
      }
    }
    return violations
  },
}
