/** A number hands over one message at a time: the next one once the outcome of the last is there. */
import { isRestore } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** Well within a lease: later than that another process may have taken the message up, and ended it. */
const heldMillis = 10_000

export const oneAtATime: JudgedPromise = {
  name: "one at a time",
  check: ({ entries, setting }) => {
    if (!setting.isTimeTrue) return []
    const violations: Array<string> = []
    const inFlight = new Map<
      number,
      { readonly at: number; readonly name: string; readonly process: string }
    >()
    for (const entry of entries) {
      if (entry._tag === "Died" || entry._tag === "Frozen") {
        for (const [number, { process }] of inFlight) {
          if (process === entry.process) inFlight.delete(number)
        }
      }
      if (isRestore(entry)) inFlight.clear()
      if (entry._tag === "Said" && inFlight.get(entry.number)?.name === entry.name) {
        inFlight.delete(entry.number)
      }
      if (entry._tag !== "HandedOver") continue
      const before = inFlight.get(entry.number)
      if (before !== undefined && before.name !== entry.name && entry.at - before.at < heldMillis) {
        violations.push(`${entry.name} was handed over while ${before.name} was in flight`)
      }
      inFlight.set(entry.number, entry)
    }
    return violations
  },
}
