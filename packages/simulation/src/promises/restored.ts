/** After a store went back in time: no id is given twice, and what is held waits for the operator. */
import type { History } from "../History.ts"
import { callsOf, controlsOf, handedOf, heldOf, isTrueBehind, sendsOf, textOf } from "./Promise.ts"
import type { Held, JudgedPromise } from "./Promise.ts"

/** By how much ids of every kind move on at least. */
const idsSkipped = 1_048_576

/** How long after it was asked an unanswered call may still take effect. */
const lateMillis = 180_000

/**
 * The same history without the messages that a transport may have had when an epoch began in the storm: the
 * service cannot know what became of them, and the operator who lets them go on takes that upon them.
 */
export const withoutDoubt = (history: History): History => {
  const controls = controlsOf(history).filter(({ ask }) => ask.key === "restored" && !ask.isProbe)
  const lastBegun = controls.findLast(({ ask }) => ask.value._tag === "Held")
  if (lastBegun === undefined) return history
  const released = controls.findLast(({ ask }) => ask.value._tag === "Open")?.asked ?? Infinity
  // Callers that hang up ask again: what counts is when a message was first asked for.
  const early = new Set(
    sendsOf(history)
      .filter(({ askedAt }) => askedAt <= lastBegun.askedAt + lateMillis)
      .map(({ ask }) => ask.text),
  )
  const asked = new Set(sendsOf(history).map(({ ask }) => ask.text))
  const isLate = (text: string) => asked.has(text) && !early.has(text)
  const doubtful = new Set(
    handedOf(history).flatMap(({ index, name }) =>
      index < released && !isLate(textOf(name)) ? [name] : [],
    ),
  )
  const isDoubtful = (name: string): boolean => doubtful.has(name)
  const calls = callsOf(history)
  const looks = new Set(
    calls.flatMap(({ ask, call }) =>
      (ask._tag === "Read" || ask._tag === "Cancel") && isDoubtful(ask.name) ? [call] : [],
    ),
  )
  return {
    ...history,
    entries: history.entries.filter((entry) => {
      if (entry._tag === "Shown") return !isDoubtful(entry.name)
      if (entry._tag === "Asked" || entry._tag === "Answered") return !looks.has(entry.call)
      return entry._tag !== "Told"
    }),
    final: {
      ...history.final,
      messages: history.final.messages.filter(({ name }) => !isDoubtful(name)),
    },
  }
}

/** Ids that were given while calls were asked and answered on one side of an entry. */
const idsOf = (history: History, isOf: (asked: number, answered: number) => boolean) =>
  sendsOf(history).flatMap(({ answer, answered, asked }) =>
    answer?._tag === "Accepted" && isOf(asked, answered) ? answer.ids : [],
  )

const epochViolations = (history: History, held: Held): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const { from, to } = held
  const begun = controlsOf(history).findLast(({ answered }) => answered === from)
  if (begun === undefined) return []
  // An earlier try whose answer was lost may have begun the epoch.
  const firstTry = controlsOf(history).find(
    ({ ask }) =>
      ask.key === "restored" && ask.value._tag === "Held" && ask.isProbe === begun.ask.isProbe,
  )
  const firstAsked = firstTry?.asked ?? begun.asked
  const before = Math.max(0, ...idsOf(history, (_, answered) => answered < firstAsked))
  const texts = new Set(
    sendsOf(history)
      .filter(({ asked }) => asked < from)
      .map(({ ask }) => ask.text),
  )
  const after = sendsOf(history).flatMap(({ answer, ask, asked }) =>
    answer?._tag === "Accepted" && asked > from && !texts.has(ask.text) ? answer.ids : [],
  )
  const least = Math.min(Infinity, ...after)
  if (before > 0 && least < before + idsSkipped) {
    violations.push(`${least} was given in the epoch after the one of ${before}`)
  }
  if (!isTrueBehind(history, from)) return violations
  const accepted = new Set(
    sendsOf(history).flatMap(({ answer, answered, ask }) =>
      answer?._tag === "Accepted" && answered < begun.asked ? [ask.text] : [],
    ),
  )
  const answeredAt = history.entries[from]?.at ?? 0
  for (const { at, index, name } of handedOf(history)) {
    if (index < from || index > to || at <= answeredAt || !accepted.has(textOf(name))) continue
    violations.push(`${name} is held and was handed over`)
  }
  return violations
}

export const restored: JudgedPromise = {
  name: "restored",
  check: (history) => {
    const violations: Array<string> = []
    const names = new Map<number, string>()
    for (const { answer, ask } of sendsOf(history)) {
      if (answer?._tag !== "Accepted") continue
      for (const id of answer.ids) {
        const other = names.get(id)
        if (other !== undefined && other !== ask.text) {
          violations.push(`${id} is both ${other} and ${ask.text}`)
        }
        names.set(id, ask.text)
      }
    }
    const begun = heldOf(history).filter(({ control }) => control.value._tag === "Held")
    return [...violations, ...begun.flatMap((held) => epochViolations(history, held))]
  },
}
