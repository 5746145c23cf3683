/** Deleted records are gone: they take nothing new, do nothing more, and leave nothing. */
import type { History } from "../History.ts"
import { heldOf, sendsOf } from "./Promise.ts"
import type { Held, JudgedPromise } from "./Promise.ts"

type Sends = ReturnType<typeof sendsOf>

/** Whether the deleted record would have to take that message. */
const isOf = ({ control }: Held, { final }: History, { ask }: Sends[number]): boolean => {
  const [what, name] = control.key.split(" ")
  if (what === "deletion") return ask.fate === "deleted"
  if (ask.isProbe || ask.fate !== undefined || ask.leavesOutNumber === true) return false
  if (what === "removal") return final.numbers[ask.number] === control.numbers[0]
  return what === "contact" && ask.contact === name
}

const violationsOf = (history: History, sends: Sends, held: Held): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const { control, from } = held
  const deletedAt = history.entries[from]?.at ?? 0
  const early = new Set(sends.filter(({ asked }) => asked < from).map(({ ask }) => ask.text))
  for (const call of sends) {
    if (call.answer?._tag !== "Accepted" || early.has(call.ask.text)) continue
    if (isOf(held, history, call))
      violations.push(`${call.ask.text} was accepted after ${control.key}`)
  }
  const { isTimeTrue } = history.setting
  for (const { runs, text } of history.final.reminders) {
    if (!isTimeTrue || control.key !== `reminder ${text}`) continue
    if (runs.some(({ dueAt }) => dueAt > deletedAt)) violations.push(`${text} ran once deleted`)
  }
  if (control.key !== "deletion") return violations
  const ids = new Set(
    sends.flatMap(({ answer, ask }) =>
      ask.fate === "deleted" && answer?._tag === "Accepted" ? answer.ids : [],
    ),
  )
  const { events, leftOfDeleted } = history.final
  if (leftOfDeleted > 0) violations.push(`${leftOfDeleted} messages are left of a workspace`)
  const left = events.filter(({ messageId }) => ids.has(messageId)).length
  if (left > 0) violations.push(`${left} events are left of a workspace`)
  return violations
}

const kinds = /^(?:removal|deletion|reminder|contact)\b/

export const deleted: JudgedPromise = {
  name: "deleted",
  check: (history) => {
    const sends = sendsOf(history)
    return heldOf(history)
      .filter(({ control }) => kinds.test(control.key))
      .flatMap((held) => violationsOf(history, sends, held))
  },
}
