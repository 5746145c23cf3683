/** After a store went back in time: no id is reused, and held messages wait for the operator. */
import { nameOf } from "../History.ts"
import type { History } from "../History.ts"
import {
  callsOf,
  controlsOf,
  handedOf,
  heldOf,
  isTrueBehind,
  messagesByName,
  sendsOf,
  textOf,
} from "./Promise.ts"
import type { Held, JudgedPromise } from "./Promise.ts"

/** The minimum step of ids of every kind. */
const idsSkipped = 1_048_576

const minuteMillis = 60_000

/** Ids of calls that were made and answered on one side of an entry. */
const idsOf = (history: History, isOf: (asked: number, answered: number) => boolean) =>
  sendsOf(history).flatMap(({ answer, answered, asked }) =>
    answer?._tag === "Accepted" && isOf(asked, answered) ? answer.ids : [],
  )

/**
 * Whether a worker was opening its media when the epoch began: the message was in flight, so it is
 * not held, fails as `outcome_unknown`, and may leave once.
 */
const wasBeingFetched = (history: History, name: string): boolean =>
  sendsOf(history).some(({ ask }) => ask.media !== undefined && ask.text === textOf(name)) &&
  messagesByName(history).get(name)?.[0]?.error === "outcome_unknown"

const epochViolations = (history: History, held: Held): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const { from, to } = held
  const begun = controlsOf(history).findLast(({ answered }) => answered === from)
  if (begun === undefined) return []
  // An earlier try without an answer may have begun the epoch.
  const controls = controlsOf(history).filter(({ ask }) => ask.key === "restored")
  const tries = controls.filter(
    ({ ask, asked }) =>
      ask.value._tag === "Held" && ask.isProbe === begun.ask.isProbe && asked <= begun.asked,
  )
  const heardBefore = tries.findLast((one) => one.asked < begun.asked && one.answer !== null)
  const firstTry = tries.find(({ asked }) => asked > (heardBefore?.asked ?? -1))
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
  // Messages that an earlier try held may have been released before this one was answered.
  const mayBeOver = controls.some(
    ({ ask, asked }) => ask.value._tag === "Open" && asked > firstAsked && asked < from,
  )
  if (mayBeOver || !isTrueBehind(history, from)) return violations
  const accepted = new Set(
    sendsOf(history).flatMap(({ answer, answered, ask }) =>
      answer?._tag === "Accepted" && answered < firstAsked
        ? ask.phones.map((phone) => nameOf(ask.text, phone))
        : [],
    ),
  )
  // Its next run is due in the next minute.
  const isDueBefore = (name: string, at: number) =>
    reminders.has(textOf(name)) &&
    Math.floor(at / minuteMillis) === Math.floor(begun.askedAt / minuteMillis)
  const reminders = new Set(
    callsOf(history).flatMap(({ ask, asked }) =>
      ask._tag === "MakeReminder" && asked < firstAsked ? [ask.text] : [],
    ),
  )
  const answeredAt = history.entries[from]?.at ?? 0
  for (const { at, givenAt, index, name } of handedOf(history)) {
    // What a transport already had is in flight, and is not held.
    if (index < from || index > to || givenAt <= answeredAt) continue
    if (wasBeingFetched(history, name)) continue
    if (accepted.has(name) || isDueBefore(name, at)) {
      violations.push(`${name} is held and was handed over`)
    }
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
