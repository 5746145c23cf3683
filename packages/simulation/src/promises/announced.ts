/** Each end of a message makes one event, which receivers are told at least once, in one version. */
import { hasLeft } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const announced: JudgedPromise = {
  name: "events",
  check: (history) => {
    const violations: Array<string> = []
    const { entries, final, setting } = history
    for (const { events, name, state } of final.messages) {
      const expected = state === "waiting" ? [] : [`message.${hasLeft(state) ? "sent" : state}`]
      if (events.join() !== expected.join()) {
        violations.push(`${name} is ${state} with the events ${events.join() || "none"}`)
      }
    }
    const bodies = new Map<string, string>()
    const heard = new Set<string>()
    const stored = new Set(final.events.map(({ eventId }) => eventId))
    for (const entry of entries) {
      if (entry._tag !== "Told") continue
      const before = bodies.get(entry.eventId)
      if (before !== undefined && before !== entry.body) {
        violations.push(`${entry.eventId} was told in two versions`)
      }
      bodies.set(entry.eventId, entry.body)
      if (entry.heard) heard.add(entry.eventId)
      if (!stored.has(entry.eventId)) {
        violations.push(`${entry.type} ${entry.eventId} tells what is not stored`)
      }
    }
    if (setting.isLong) {
      const live = new Set(final.messages.filter(({ mode }) => mode === "live").map(({ id }) => id))
      for (const { eventId, messageId, type } of final.events) {
        if (live.has(messageId) && !heard.has(eventId)) {
          violations.push(`${type} of ${messageId} never arrived`)
        }
      }
    }
    return violations
  },
}
