/** A message's progress follows the remote server's reports, and none of those is lost. */
import type { JudgedPromise } from "./Promise.ts"
import { hasLeft } from "./Promise.ts"

export const ticked: JudgedPromise = {
  name: "ticks",
  check: ({ entries, final }) => {
    const violations: Array<string> = []
    const said = new Map<string, Set<string>>()
    const saidInCalm = new Set<string>()
    let isCalm = false
    for (const entry of entries) {
      if (entry._tag === "Calm") isCalm = true
      if (entry._tag !== "Ticked") continue
      const { status, transportId } = entry
      said.set(transportId, (said.get(transportId) ?? new Set()).add(status))
      if (isCalm && status === "read") saidInCalm.add(transportId)
    }
    // A removed number gets no reports any more.
    const removed = new Set(
      final.lines.filter(({ status }) => status === null).map(({ number }) => number),
    )
    for (const message of final.messages) {
      const { deliveredAt, mode, name, number, readAt, state, transportId } = message
      if (mode === "test") continue
      const heard = said.get(transportId)
      for (const [status, at] of [
        ["delivered", deliveredAt],
        ["read", readAt],
      ] as const) {
        if (state === status && at === null) {
          violations.push(`${name} is ${status}, and its timeline does not say when`)
        }
        if (at !== null && heard?.has(status) !== true) {
          violations.push(`${name} was ${status} by its timeline, not by the remote server`)
        }
      }
      const isSaid =
        state === "read"
          ? heard?.has("read") === true
          : state !== "delivered" || heard?.has("delivered") === true
      if (!isSaid) violations.push(`${name} is ${state}, which the remote server did not say`)
      const isHeard = saidInCalm.has(transportId) && !removed.has(number)
      if (hasLeft(state) && state !== "read" && isHeard) {
        violations.push(`${name} is ${state} and was said to be read, all being well`)
      }
    }
    return violations
  },
}
