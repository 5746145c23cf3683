/** Once all is well, what falls due leaves at once: no word between processes is needed twice. */
import { nameOf } from "../History.ts"
import { sendsOf, shownByName } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** What is due leaves within this, though idle loops look at the store every ten minutes. */
const promptMillis = 2000

export const prompt: JudgedPromise = {
  name: "late",
  check: (history) => {
    const shown = shownByName(history)
    return sendsOf(history).flatMap(({ answer, ask, askedAt }) => {
      if (!ask.isProbe || answer?._tag !== "Accepted") return []
      const name = nameOf(ask.text, ask.phones[0] ?? "")
      const at = shown.get(name)?.[0]?.entry.at
      const late = (at ?? Infinity) - (ask.sendAt ?? askedAt)
      return late > promptMillis ? [`${name} left ${late} ms after it was due, all being well`] : []
    })
  },
}
