/** Linking ends: a scan in time connects its number, a phone has one number, and attempts time out. */
import { getCalls, isTrueBehind } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

const attemptMillis = 600_000

export const linked: JudgedPromise = {
  name: "linking",
  check: (history) => {
    const violations: Array<string> = []
    const { links } = history.final
    const calls = getCalls(history)
    const createdAt = new Map<number, number>()
    for (const { answer, request, requestedAt } of calls) {
      if (request._tag !== "Connect" || answer?._tag !== "Accepted") continue
      const [id = 0] = answer.ids
      createdAt.set(id, requestedAt)
      if (!links.some((each) => each.id === id)) violations.push(`${request.key} is gone`)
    }
    for (const { id, status } of links) {
      if (status === "connecting") violations.push(`${id} is connecting when all has come to rest`)
    }
    for (const [phone, same] of Map.groupBy(links, (each) => each.phone ?? "")) {
      const connected = same.filter(({ status }) => status === "connected")
      if (phone !== "" && connected.length > 1) {
        violations.push(`${phone} is had by ${connected.length} numbers`)
      }
    }
    for (const { answer, answered, request, requestIndex, requestedAt } of calls) {
      if (request._tag !== "Scan" || answer?._tag !== "Scanned") continue
      const { number, phone } = request
      const now = links.find(({ id }) => id === number)
      if (answer.status === "connected") {
        const other = calls.find(
          (before) =>
            before.request._tag === "Scan" &&
            before.request.phone === phone &&
            before.request.number !== number &&
            before.answered < requestIndex &&
            before.answer?._tag === "Scanned" &&
            before.answer.status === "connected",
        )
        if (other !== undefined) violations.push(`${number} was linked to a phone of another one`)
        if (now?.status !== "connected" || now.phone !== phone.replace("+", "")) {
          violations.push(`${number} was linked and is ${now?.status ?? "gone"}`)
        }
        const late = requestedAt - (createdAt.get(number) ?? requestedAt)
        // It has ten minutes from its last request.
        if (isTrueBehind(history, answered) && late > attemptMillis + 120_000) {
          violations.push(`${number} was linked ${late} ms after it was asked for`)
        }
      }
    }
    return violations
  },
}
