/** A reminder runs only at its times, once for each, and each accepted run is one message. */
import { getHolds } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const reminded: JudgedPromise = {
  name: "reminders",
  check: (history) => {
    const violations: Array<string> = []
    const { entries, final, setting } = history
    for (const { control, from, to } of setting.isTimeTrue ? getHolds(history) : []) {
      const { key, value } = control
      const [since, until] = [entries[from]?.at ?? 0, entries[to]?.at ?? Infinity]
      const every = value._tag === "Every" ? value.minutes : value._tag === "Stopped" ? Infinity : 1
      const own = final.reminders.find(
        ({ text }) => key === `pausing ${text}` || key === `schedule ${text}`,
      )
      for (const { dueAt } of own?.runs ?? []) {
        const isOwn = new Date(dueAt).getUTCMinutes() % every === 0 && every < Infinity
        if (dueAt > since && dueAt < until && !isOwn) {
          violations.push(`${own?.text} ran ${dueAt - since} ms after ${key} was ${value._tag}`)
        }
      }
    }
    for (const { due, runs, text } of final.reminders) {
      const createdCount = final.messages.filter((message) => message.text === text).length
      const accepted = runs.filter(({ outcome }) => outcome === "accepted").length
      if (createdCount !== accepted)
        violations.push(`${text} has ${accepted} runs and ${createdCount} messages`)
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
