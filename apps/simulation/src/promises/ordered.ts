/** A number's messages leave in the order of their due times, then of their ids. */
import { getControls, messagesByName, getSends } from "./Promise.ts"
import { toName } from "../History.ts"
import type { History } from "../History.ts"
import type { JudgedPromise } from "./Promise.ts"

/** Messages that newer ones may pass: they waited when a new epoch began. By name, with that entry. */
const wasHeldOnce = (history: History) => {
  const epochs = getControls(history).filter(
    ({ request }) => request.value._tag === "Held" && !request.isProbe,
  )
  const end = Math.max(...epochs.map(({ answered }) => answered))
  const names = getSends(history).flatMap(({ request, requestIndex }) =>
    requestIndex < end ? request.phones.map((phone) => toName(request.text, phone)) : [],
  )
  return {
    names: new Set(names),
    since: Math.min(...epochs.map(({ requestIndex }) => requestIndex)),
  }
}

export const ordered: JudgedPromise = {
  name: "order",
  check: (history) => {
    // A slow commit writes an earlier due time after a later one.
    if (!history.setting.isPunctual) return []
    const stored = messagesByName(history)
    const sent = new Set(
      getSends(history).flatMap(({ request }) =>
        request.phones.map((phone) => toName(request.text, phone)),
      ),
    )
    const heldOnce = wasHeldOnce(history)
    const started = new Set<string>()
    const last = new Map<
      number,
      { readonly name: string; readonly dueAt: number; readonly id: number }
    >()
    const violations: Array<string> = []
    for (const [index, entry] of history.entries.entries()) {
      // Repeats of an attempt say nothing of the order.
      if (entry._tag !== "HandedOver" || started.has(entry.name)) continue
      started.add(entry.name)
      const [message] = stored.get(entry.name) ?? []
      if (message === undefined || !sent.has(entry.name)) continue
      if (index > heldOnce.since && heldOnce.names.has(entry.name)) continue
      const before = last.get(message.number)
      if (before !== undefined && (before.dueAt - message.dueAt || before.id - message.id) > 0) {
        violations.push(`${entry.name} was handed over behind ${before.name}, which is due later`)
      }
      last.set(message.number, message)
    }
    return violations
  },
}
