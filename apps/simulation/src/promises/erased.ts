/** Records past their workspace's retention are gone from every view, and nothing else is. */
import type { JudgedPromise } from "./Promise.ts"

const dayMillis = 86_400_000

/** Housekeeping's interval. */
const roundMillis = 11 * 60_000

export const erased: JudgedPromise = {
  name: "erased",
  check: ({ final, kept: [first, ...later] }) => {
    if (first === undefined) return []
    const violations: Array<string> = []
    const ended = new Map(final.events.map(({ createdAt, messageId }) => [messageId, createdAt]))
    const eventsByMessage = Map.groupBy(final.events, ({ messageId }) => messageId)
    const last = later.at(-1)
    if (last?.areOthersRetained === false && last.others >= first.others) {
      violations.push(`${last.others} messages are left that the service keeps for a day`)
    }
    for (const { areOthersRetained, at, events, messages, others, refusals } of later) {
      const left = new Set(messages)
      const leftEvents = new Set(events)
      for (const { id, name } of final.messages) {
        // One that had not ended by the first look may have ended right after it.
        const retentionMillis = at - (ended.get(id) ?? first.at)
        const isDue = ended.has(id) && retentionMillis > dayMillis + roundMillis
        if (isDue && left.has(id))
          violations.push(`${name} is kept ${retentionMillis} ms after its end`)
        if (retentionMillis <= dayMillis && !left.has(id)) {
          violations.push(`${name} is gone ${retentionMillis} ms after its end`)
        }
        for (const { eventId, type } of eventsByMessage.get(id) ?? []) {
          if (retentionMillis <= dayMillis && !leftEvents.has(eventId)) {
            violations.push(`${type} of ${name} is gone ${retentionMillis} ms after its end`)
          }
        }
      }
      if (areOthersRetained === true && others !== first.others) {
        violations.push(
          `${others} messages in place of ${first.others} are left of another workspace`,
        )
      }
      for (const code of refusals) {
        if (code !== "message_not_found")
          violations.push(`an erased message is answered with ${code}`)
      }
    }
    return violations
  },
}
