/** What one number sends leaves in the order in which it falls due, then by id. */
import { messagesByName, sendsOf } from "./Promise.ts"
import { nameOf } from "../History.ts"
import type { JudgedPromise } from "./Promise.ts"

export const ordered: JudgedPromise = {
  name: "order",
  check: (history) => {
    // A commit that takes its time writes an earlier due time behind a later one.
    if (!history.setting.isPunctual) return []
    const stored = messagesByName(history)
    const sent = new Set(
      sendsOf(history).flatMap(({ ask }) => ask.phones.map((phone) => nameOf(ask.text, phone))),
    )
    const begun = new Set<string>()
    const last = new Map<
      number,
      { readonly name: string; readonly dueAt: number; readonly id: number }
    >()
    const violations: Array<string> = []
    for (const entry of history.entries) {
      // Repeats of an attempt say nothing of the order.
      if (entry._tag !== "HandedOver" || begun.has(entry.name)) continue
      begun.add(entry.name)
      const [message] = stored.get(entry.name) ?? []
      if (message === undefined || !sent.has(entry.name)) continue
      const before = last.get(message.number)
      if (before !== undefined && (before.dueAt - message.dueAt || before.id - message.id) > 0) {
        violations.push(`${entry.name} was handed over behind ${before.name}, which is due later`)
      }
      last.set(message.number, message)
    }
    return violations
  },
}
