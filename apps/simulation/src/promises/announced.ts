/** Each end of a message, and each received one, creates one event, which receivers get at least once, in one version. */
import { hasLeft, reportedMessages } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const announced: JudgedPromise = {
  name: "events",
  check: (history) => {
    const violations: Array<string> = []
    const { entries, final } = history
    for (const { events, name, state } of final.messages) {
      const expected = state === "waiting" ? [] : [`message.${hasLeft(state) ? "sent" : state}`]
      if (events.join() !== expected.join()) {
        violations.push(`${name} is ${state} with the events ${events.join() || "none"}`)
      }
    }
    const erased = new Set(
      reportedMessages(history).flatMap(({ eventId, isDoomed }) => (isDoomed ? [eventId] : [])),
    )
    const bodies = new Map<string, string>()
    const received = final.received.messages.flatMap(({ events }) => events)
    const stored = new Set([...final.events, ...received].map(({ eventId }) => eventId))
    for (const entry of entries) {
      if (entry._tag !== "Told" || entry.kind !== "webhook") continue
      const before = bodies.get(entry.eventId)
      if (before !== undefined && before !== entry.body) {
        violations.push(`${entry.eventId} was told in two versions`)
      }
      bodies.set(entry.eventId, entry.body)
      if (entry.type !== "ping" && !stored.has(entry.eventId) && !erased.has(entry.eventId)) {
        violations.push(`${entry.type} ${entry.eventId} tells what is not stored`)
      }
    }
    return violations
  },
}
