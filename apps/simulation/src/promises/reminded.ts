/** A reminder runs only at its times, once for each, and each accepted run is one message. */
import type { JudgedPromise } from "./Promise.ts"

export const reminded: JudgedPromise = {
  name: "reminders",
  check: ({ final }) => {
    const violations: Array<string> = []
    for (const { due, runs, text } of final.reminders) {
      const made = final.messages.filter((message) => message.text === text).length
      const accepted = runs.filter(({ outcome }) => outcome === "accepted").length
      if (made !== accepted) violations.push(`${text} has ${accepted} runs and ${made} messages`)
      if (new Set(runs.map(({ dueAt }) => dueAt)).size !== runs.length) {
        violations.push(`${text} ran twice for one time`)
      }
      const times = new Set(due)
      for (const { dueAt } of runs) {
        if (!times.has(dueAt)) violations.push(`${text} ran for a time that is not its own`)
      }
    }
    return violations
  },
}
