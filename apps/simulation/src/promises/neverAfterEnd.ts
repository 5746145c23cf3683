/**
 * A message is never shown after it was reported as cancelled or expired, nor handed over after its expiry.
 */
import { toName } from "../History.ts"
import { isRefunded, getSends, visibleByName, reportedMessages, reportedStates } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const neverAfterEnd: JudgedPromise = {
  name: "after its end",
  check: (history) => {
    const violations: Array<string> = []
    const visible = visibleByName(history)
    for (const { answered, name, state } of reportedStates(history)) {
      if (!isRefunded(state)) continue
      const copies = visible.get(name) ?? []
      if (copies.some(({ index }) => index < answered)) {
        violations.push(`${name} is reported as ${state} and was shown before`)
      }
      if (copies.some(({ index }) => index > answered)) {
        violations.push(`${name} was shown after it was reported as ${state}`)
      }
    }
    for (const { name, type } of reportedMessages(history)) {
      const isUnsent = type === "message.cancelled" || type === "message.expired"
      if (name !== null && isUnsent && visible.has(name)) {
        violations.push(`${name} was shown, and ${type} was told`)
      }
    }
    return violations
  },
}

/** Where clocks are true: nothing leaves before its time, and nothing is handed over once it has expired. */
export const inItsTime: JudgedPromise = {
  name: "in its time",
  check: (history) => {
    if (!history.setting.isTimeTrue) return []
    const violations: Array<string> = []
    const times = new Map(
      getSends(history).flatMap(({ request }) =>
        request.phones.map((phone) => [toName(request.text, phone), request] as const),
      ),
    )
    for (const entry of history.entries) {
      if (entry._tag !== "HandedOver" && entry._tag !== "Shown") continue
      const send = times.get(entry.name)
      if (send === undefined) continue
      if (send.sendAt !== null && entry.at < send.sendAt) {
        violations.push(`${entry.name} left ${send.sendAt - entry.at} ms before its time`)
      }
      if (entry._tag === "HandedOver" && send.expiresAt !== null && entry.at >= send.expiresAt) {
        violations.push(
          `${entry.name} was handed over ${entry.at - send.expiresAt} ms after it expired`,
        )
      }
    }
    return violations
  },
}
