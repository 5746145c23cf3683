/** Once all is well, what falls due leaves at once: no word between processes is needed twice. */
import { nameOf } from "../History.ts"
import { controlsOf, sendsOf, shownByName } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** What is due leaves within this, though idle loops look at the store every ten minutes. */
const promptMillis = 2000

export const prompt: JudgedPromise = {
  name: "late",
  check: (history) => {
    const shown = shownByName(history)
    const controls = controlsOf(history).filter(({ ask }) => ask.isProbe)
    return sendsOf(history).flatMap(({ answer, ask, asked, askedAt }) => {
      if (!ask.isProbe || answer?._tag !== "Accepted") return []
      const name = nameOf(ask.text, ask.phones[0] ?? "")
      const first = shown.get(name)?.[0]
      // What an operator let go on while it waited.
      const opened = controls.filter(
        (control) => control.asked > asked && control.asked < (first?.index ?? Infinity),
      )
      const due = Math.max(ask.sendAt ?? askedAt, ...opened.map((control) => control.askedAt))
      const late = (first?.entry.at ?? Infinity) - due
      return late > promptMillis ? [`${name} left ${late} ms after it was due, all being well`] : []
    })
  },
}
