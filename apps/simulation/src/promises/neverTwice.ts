/** A message is never sent twice, and no test message is ever sent. */
import { toName } from "../History.ts"
import {
  getCalls,
  messagesByName,
  getSends,
  visibleByName,
  testNames,
  toCampaign,
  toText,
} from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const neverTwice: JudgedPromise = {
  name: "twice",
  check: (history) => {
    const violations: Array<string> = []
    const tests = testNames(history)
    const probes = new Set(
      getSends(history)
        .filter(({ request }) => request.isProbe || request.fate !== undefined)
        .flatMap(({ request }) => request.phones.map((phone) => toName(request.text, phone))),
    )
    const reminders = new Set(
      getCalls(history).flatMap(({ request }) =>
        request._tag === "MakeReminder" && request.isProbe ? [request.text] : [],
      ),
    )
    const campaigns = new Set(
      getCalls(history).flatMap(({ request }) =>
        request._tag === "MakeCampaign" && request.isProbe ? [request.campaign] : [],
      ),
    )
    const stored = messagesByName(history)
    for (const [name, copies] of visibleByName(history)) {
      const byId = Map.groupBy(copies, ({ entry }) => entry.transportId)
      for (const [, same] of byId) {
        if (same.length > 1) violations.push(`${name} was shown ${same.length} times`)
      }
      // A reminder creates a message for each run.
      const isProbe =
        probes.has(name) || reminders.has(toText(name)) || campaigns.has(toCampaign(name))
      const createdCount = isProbe ? 1 : (stored.get(name)?.length ?? 0)
      if (byId.size > createdCount)
        violations.push(`${name} was shown ${byId.size} times for ${createdCount} messages`)
      if (tests.has(name)) violations.push(`${name} is a test message and was shown`)
    }
    return violations
  },
}
