/**
 * A single message of a full number leaves a failed one where its send asks for that, and the refusal
 * names it. Nothing else that is refused is stored.
 */
import { toName } from "../History.ts"
import { getSends } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const kept: JudgedPromise = {
  name: "kept refusals",
  check: (history) => {
    const violations: Array<string> = []
    const stored = new Map(history.final.messages.map((message) => [message.id, message]))
    const requests = new Map<string, number>()
    for (const { answer, request } of getSends(history)) {
      const [phone = "", ...others] = request.phones
      const isKeeping = request.keepsRefused === true && others.length === 0
      const name = toName(request.text, phone)
      if (isKeeping) requests.set(name, (requests.get(name) ?? 0) + 1)
      if (answer?._tag !== "Refused") continue
      const isDue = isKeeping && answer.code === "number_daily_cap_reached"
      if (isDue !== (answer.kept !== undefined)) {
        violations.push(`${name} was refused (${answer.code}) as ${answer.kept ?? "nothing"}`)
      }
      const message = stored.get(answer.kept ?? 0)
      const isThere = message?.isStored === true && message.name === name
      if (answer.kept !== undefined && !isThere) violations.push(`${name} was kept and is gone`)
    }
    const all = Map.groupBy(
      history.final.messages.filter(({ isStored }) => isStored),
      ({ name }) => name,
    )
    for (const [name, { length }] of all) {
      const max = requests.get(name) ?? 0
      if (length > max) violations.push(`${name} was kept ${length} times of ${max}`)
    }
    return violations
  },
}
