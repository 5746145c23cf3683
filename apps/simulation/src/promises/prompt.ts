/** In calm, due work happens at once: a signal between processes is never needed twice. */
import { toName } from "../History.ts"
import type { Control, History } from "../History.ts"
import { getControls, getSends, visibleByName, reportedMessages } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** Due messages leave within this, though idle loops poll every ten minutes. */
const promptMillis = 2000

const isStop = ({ value }: Control): boolean =>
  value._tag === "Stopped" || (value._tag === "Paced" && value.pacing !== null)

/** When each message left, with the index of the entry. A test message leaves with its webhook. */
const findLeaves = (history: History) => {
  const leaves = new Map<string, { readonly at: number; readonly index: number }>()
  for (const [name, [first]] of visibleByName(history)) {
    if (first !== undefined) leaves.set(name, { at: first.entry.at, index: first.index })
  }
  for (const { index, name, type } of reportedMessages(history)) {
    if (name === null || type !== "message.sent" || leaves.has(name)) continue
    leaves.set(name, { at: history.entries[index]?.at ?? Infinity, index })
  }
  return leaves
}

export const prompt: JudgedPromise = {
  name: "late",
  check: (history) => {
    const leaves = findLeaves(history)
    const controls = getControls(history).filter(({ request }) => request.isProbe)
    return getSends(history).flatMap(({ answer, request, requestIndex, requestedAt }) => {
      if (!request.isProbe || answer?._tag !== "Accepted") return []
      const name = toName(request.text, request.phones[0] ?? "")
      const left = leaves.get(name)
      const getEnds = (stops: typeof controls) =>
        stops.flatMap((stop) => {
          const { key, value } = stop.request
          const next = controls.find(
            (each) => each.request.key === key && each.requestIndex > stop.requestIndex,
          )
          if (next !== undefined && next.requestIndex < requestIndex) return []
          if (value._tag === "Stopped" && value.until !== null) return [value.until]
          return next === undefined ? [] : [next.requestedAt]
        })
      // A stopped message waits until the stop's end, or until it is released.
      const sendAt = request.sendAt ?? requestedAt
      const stops = controls.filter(
        (control) =>
          isStop(control.request) &&
          (control.requestIndex < requestIndex ||
            (request.mode === "test" && control.requestedAt < sendAt)),
      )
      const open = Math.max(sendAt, ...getEnds(stops))
      // Held messages were sent earlier, and could not have left yet.
      const holds = controls.filter(
        (control) =>
          control.request.value._tag === "Held" &&
          control.requestIndex > requestIndex &&
          control.requestIndex < (left?.index ?? Infinity) &&
          control.requestedAt <= open + promptMillis,
      )
      const due = Math.max(open, ...getEnds(holds))
      const late = (left?.at ?? Infinity) - due
      if (late > promptMillis) return [`${name} left ${late} ms after it was due, all being well`]
      // No transport has a test message, so none is in flight when it is stopped.
      const isEarly = request.mode === "test" && late < 0
      return isEarly ? [`${name} left ${-late} ms before it could`] : []
    })
  },
}
