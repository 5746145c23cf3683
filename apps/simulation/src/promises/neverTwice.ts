/** A message is never sent twice, and no test message is ever sent. */
import { nameOf } from "../History.ts"
import { callsOf, messagesByName, sendsOf, shownByName, testNames, textOf } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const neverTwice: JudgedPromise = {
  name: "twice",
  check: (history) => {
    const violations: Array<string> = []
    const tests = testNames(history)
    const probes = new Set(
      sendsOf(history)
        .filter(({ ask }) => ask.isProbe || ask.fate !== undefined)
        .flatMap(({ ask }) => ask.phones.map((phone) => nameOf(ask.text, phone))),
    )
    const reminders = new Set(
      callsOf(history).flatMap(({ ask }) =>
        ask._tag === "MakeReminder" && ask.isProbe ? [ask.text] : [],
      ),
    )
    const stored = messagesByName(history)
    for (const [name, copies] of shownByName(history)) {
      const byId = Map.groupBy(copies, ({ entry }) => entry.transportId)
      for (const [, same] of byId) {
        if (same.length > 1) violations.push(`${name} was shown ${same.length} times`)
      }
      // A reminder creates a message for each run.
      const isProbe = probes.has(name) || reminders.has(textOf(name))
      const made = isProbe ? 1 : (stored.get(name)?.length ?? 0)
      if (byId.size > made)
        violations.push(`${name} was shown ${byId.size} times for ${made} messages`)
      if (tests.has(name)) violations.push(`${name} is a test message and was shown`)
    }
    return violations
  },
}
