/** In calm, due work happens at once: a signal between processes is never needed twice. */
import { nameOf } from "../History.ts"
import type { Control, History } from "../History.ts"
import { controlsOf, sendsOf, shownByName, toldMessages } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** Due messages leave within this, though idle loops poll every ten minutes. */
const promptMillis = 2000

const isStop = ({ value }: Control): boolean =>
  value._tag === "Stopped" || (value._tag === "Paced" && value.pacing !== null)

/** When each message left, with the index of the entry. A test message leaves with its webhook. */
const leavesOf = (history: History) => {
  const leaves = new Map<string, { readonly at: number; readonly index: number }>()
  for (const [name, [first]] of shownByName(history)) {
    if (first !== undefined) leaves.set(name, { at: first.entry.at, index: first.index })
  }
  for (const { index, name, type } of toldMessages(history)) {
    if (name === null || type !== "message.sent" || leaves.has(name)) continue
    leaves.set(name, { at: history.entries[index]?.at ?? Infinity, index })
  }
  return leaves
}

export const prompt: JudgedPromise = {
  name: "late",
  check: (history) => {
    const leaves = leavesOf(history)
    const controls = controlsOf(history).filter(({ ask }) => ask.isProbe)
    return sendsOf(history).flatMap(({ answer, ask, asked, askedAt }) => {
      if (!ask.isProbe || answer?._tag !== "Accepted") return []
      const name = nameOf(ask.text, ask.phones[0] ?? "")
      const left = leaves.get(name)
      const endsOf = (stops: typeof controls) =>
        stops.flatMap((stop) => {
          const { key, value } = stop.ask
          const next = controls.find((each) => each.ask.key === key && each.asked > stop.asked)
          if (next !== undefined && next.asked < asked) return []
          if (value._tag === "Stopped" && value.until !== null) return [value.until]
          return next === undefined ? [] : [next.askedAt]
        })
      // A stopped message waits until the stop's end, or until it is released.
      const sendAt = ask.sendAt ?? askedAt
      const stops = controls.filter(
        (control) =>
          isStop(control.ask) &&
          (control.asked < asked || (ask.mode === "test" && control.askedAt < sendAt)),
      )
      const open = Math.max(sendAt, ...endsOf(stops))
      // Held messages were sent earlier, and could not have left yet.
      const holds = controls.filter(
        (control) =>
          control.ask.value._tag === "Held" &&
          control.asked > asked &&
          control.asked < (left?.index ?? Infinity) &&
          control.askedAt <= open + promptMillis,
      )
      const due = Math.max(open, ...endsOf(holds))
      const late = (left?.at ?? Infinity) - due
      if (late > promptMillis) return [`${name} left ${late} ms after it was due, all being well`]
      // No transport has a test message, so none is in flight when it is stopped.
      const isEarly = ask.mode === "test" && late < 0
      return isEarly ? [`${name} left ${-late} ms before it could`] : []
    })
  },
}
