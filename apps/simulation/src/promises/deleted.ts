/** Deleted records are gone: they take nothing new, do nothing more, and leave nothing. */
import type { History } from "../History.ts"
import { getHolds, getSends } from "./Promise.ts"
import type { HoldPeriod, JudgedPromise } from "./Promise.ts"

type Sends = ReturnType<typeof getSends>

/** Whether the deleted record would have to take that message. */
const isFor = (
  { control }: HoldPeriod,
  { final }: History,
  { request }: Sends[number],
): boolean => {
  const [what, name] = control.key.split(" ")
  if (what === "deletion") return request.fate === "deleted"
  if (request.isProbe || request.fate !== undefined || request.leavesOutNumber === true)
    return false
  if (what === "removal") return final.numbers[request.number] === control.numbers[0]
  return what === "contact" && request.contact === name
}

const findViolations = (
  history: History,
  sends: Sends,
  holdPeriod: HoldPeriod,
): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const { control, from } = holdPeriod
  const deletedAt = history.entries[from]?.at ?? 0
  const early = new Set(
    sends.filter(({ requestIndex }) => requestIndex < from).map(({ request }) => request.text),
  )
  for (const call of sends) {
    if (call.answer?._tag !== "Accepted" || early.has(call.request.text)) continue
    if (isFor(holdPeriod, history, call))
      violations.push(`${call.request.text} was accepted after ${control.key}`)
  }
  const { isTimeTrue } = history.setting
  for (const { runs, text } of history.final.reminders) {
    if (!isTimeTrue || control.key !== `reminder ${text}`) continue
    if (runs.some(({ dueAt }) => dueAt > deletedAt)) violations.push(`${text} ran once deleted`)
  }
  if (control.key !== "deletion") return violations
  const ids = new Set(
    sends.flatMap(({ answer, request }) =>
      request.fate === "deleted" && answer?._tag === "Accepted" ? answer.ids : [],
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
    const sends = getSends(history)
    return getHolds(history)
      .filter(({ control }) => kinds.test(control.key))
      .flatMap((holdPeriod) => findViolations(history, sends, holdPeriod))
  },
}
