/** Once all is well, what falls due leaves at once: no word between processes is needed twice. */
import { nameOf } from "../History.ts"
import type { Control } from "../History.ts"
import { controlsOf, sendsOf, shownByName } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** What is due leaves within this, though idle loops look at the store every ten minutes. */
const promptMillis = 2000

const isStop = ({ value }: Control): boolean =>
  value._tag === "Stopped" ||
  value._tag === "Held" ||
  (value._tag === "Paced" && value.pacing !== null)

export const prompt: JudgedPromise = {
  name: "late",
  check: (history) => {
    const shown = shownByName(history)
    const controls = controlsOf(history).filter(({ ask }) => ask.isProbe)
    return sendsOf(history).flatMap(({ answer, ask, asked, askedAt }) => {
      if (!ask.isProbe || answer?._tag !== "Accepted") return []
      const name = nameOf(ask.text, ask.phones[0] ?? "")
      const first = shown.get(name)?.[0]
      // What an operator had stopped waits until its end, or until it is let go on.
      // What was held was sent before.
      const stops = controls.filter(
        (control) =>
          isStop(control.ask) &&
          (control.ask.value._tag === "Held"
            ? control.asked > asked && control.asked < (first?.index ?? Infinity)
            : control.asked < asked),
      )
      const ends = stops.flatMap((stop) => {
        const { key, value } = stop.ask
        const next = controls.find((each) => each.ask.key === key && each.asked > stop.asked)
        if (next !== undefined && next.asked < asked) return []
        if (value._tag === "Stopped" && value.until !== null) return [value.until]
        return next === undefined ? [] : [next.askedAt]
      })
      const due = Math.max(ask.sendAt ?? askedAt, ...ends)
      const late = (first?.entry.at ?? Infinity) - due
      return late > promptMillis ? [`${name} left ${late} ms after it was due, all being well`] : []
    })
  },
}
