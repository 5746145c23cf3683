/** An accepted message is never lost: it is stored once, under the answered ids, and it ends. */
import { toName } from "../History.ts"
import { messagesByName, getSends, wasRestored } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const neverLost: JudgedPromise = {
  name: "lost",
  check: (history) => {
    const violations: Array<string> = []
    const stored = messagesByName(history)
    const sent = new Set(getSends(history).map(({ request }) => request.text))
    for (const { answer, request } of getSends(history)) {
      if (answer?._tag !== "Accepted" || request.isProbe || request.fate !== undefined) continue
      for (const [index, phone] of request.phones.entries()) {
        const name = toName(request.text, phone)
        const messages = stored.get(name) ?? []
        if (messages.length === 0) violations.push(`${name} was accepted and is gone`)
        else if (!messages.some(({ id }) => id === answer.ids[index])) {
          violations.push(`${name} was accepted as ${answer.ids[index]} and has another id`)
        }
      }
    }
    for (const [name, all] of stored) {
      const messages = all.filter(({ isStored }) => !isStored)
      if (messages.length > 1 && sent.has(messages[0]?.text ?? "")) {
        violations.push(`${name} is stored ${messages.length} times`)
      }
    }
    const { links, messages } = history.final
    // The service links no number while another one names its phone: its messages wait until then.
    const barred = new Set(
      links.flatMap(({ id, phone, status }) => {
        const isNamed = links.some((other) => other.id !== id && other.phone === phone)
        return status === "disconnected" && phone !== null && isNamed ? [id] : []
      }),
    )
    for (const { name, number, state } of messages) {
      const left =
        state !== "waiting"
          ? 0
          : messages.filter((each) => each.number === number && each.sentAt !== null).length
      // After a release, no more held messages leave in a day than a number may send.
      const isCapped = left >= history.setting.quota && wasRestored(history)
      if (state === "waiting" && !isCapped && !barred.has(number))
        violations.push(`${name} still waits when all has come to rest`)
    }
    return violations
  },
}
