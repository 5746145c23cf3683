/** After a store went back in time: no id is reused, and held messages wait for the operator. */
import { toName } from "../History.ts"
import type { History } from "../History.ts"
import {
  getCalls,
  getControls,
  getHandovers,
  getHolds,
  isTrueBehind,
  messagesByName,
  getSends,
  toText,
} from "./Promise.ts"
import type { HoldPeriod, JudgedPromise } from "./Promise.ts"

/** The minimum step of ids of every kind. */
const idsSkipped = 1_048_576

const minuteMillis = 60_000

/** Ids of calls that were made and answered on one side of an entry. */
const toIds = (history: History, isFor: (requestIndex: number, answered: number) => boolean) =>
  getSends(history).flatMap(({ answer, answered, requestIndex }) =>
    answer?._tag === "Accepted" && isFor(requestIndex, answered) ? answer.ids : [],
  )

/**
 * Whether a worker was opening its media when the epoch began: the message was in flight, so it is
 * not held, fails as `outcome_unknown`, and may leave once.
 */
const wasBeingFetched = (history: History, name: string): boolean =>
  getSends(history).some(
    ({ request }) => request.media !== undefined && request.text === toText(name),
  ) && messagesByName(history).get(name)?.[0]?.error === "outcome_unknown"

const epochViolations = (history: History, holdPeriod: HoldPeriod): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const { from, to } = holdPeriod
  const started = getControls(history).findLast(({ answered }) => answered === from)
  if (started === undefined) return []
  // An earlier try without an answer may have begun the epoch.
  const controls = getControls(history).filter(({ request }) => request.key === "restored")
  const tries = controls.filter(
    ({ request, requestIndex }) =>
      request.value._tag === "Held" &&
      request.isProbe === started.request.isProbe &&
      requestIndex <= started.requestIndex,
  )
  const heardBefore = tries.findLast(
    (one) => one.requestIndex < started.requestIndex && one.answer !== null,
  )
  const firstTry = tries.find(
    ({ requestIndex }) => requestIndex > (heardBefore?.requestIndex ?? -1),
  )
  const firstRequest = firstTry?.requestIndex ?? started.requestIndex
  const before = Math.max(0, ...toIds(history, (_, answered) => answered < firstRequest))
  const texts = new Set(
    getSends(history)
      .filter(({ requestIndex }) => requestIndex < from)
      .map(({ request }) => request.text),
  )
  const after = getSends(history).flatMap(({ answer, request, requestIndex }) =>
    answer?._tag === "Accepted" && requestIndex > from && !texts.has(request.text)
      ? answer.ids
      : [],
  )
  const min = Math.min(Infinity, ...after)
  if (before > 0 && min < before + idsSkipped) {
    violations.push(`${min} was given in the epoch after the one of ${before}`)
  }
  // Messages that an earlier try held may have been released before this one was answered.
  const mayBeOver = controls.some(
    ({ request, requestIndex }) =>
      request.value._tag === "Open" && requestIndex > firstRequest && requestIndex < from,
  )
  if (mayBeOver || !isTrueBehind(history, from)) return violations
  const accepted = new Set(
    getSends(history).flatMap(({ answer, answered, request }) =>
      answer?._tag === "Accepted" && answered < firstRequest
        ? request.phones.map((phone) => toName(request.text, phone))
        : [],
    ),
  )
  // Its next run is due in the next minute.
  const isDueBefore = (name: string, at: number) =>
    reminders.has(toText(name)) &&
    Math.floor(at / minuteMillis) === Math.floor(started.requestedAt / minuteMillis)
  const reminders = new Set(
    getCalls(history).flatMap(({ request, requestIndex }) =>
      request._tag === "MakeReminder" && requestIndex < firstRequest ? [request.text] : [],
    ),
  )
  const answeredAt = history.entries[from]?.at ?? 0
  for (const { at, issuedAt, index, name } of getHandovers(history)) {
    // What a transport already had is in flight, and is not held.
    if (index < from || index > to || issuedAt <= answeredAt) continue
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
    for (const { answer, request } of getSends(history)) {
      if (answer?._tag !== "Accepted") continue
      for (const id of answer.ids) {
        const other = names.get(id)
        if (other !== undefined && other !== request.text) {
          violations.push(`${id} is both ${other} and ${request.text}`)
        }
        names.set(id, request.text)
      }
    }
    const started = getHolds(history).filter(({ control }) => control.value._tag === "Held")
    return [...violations, ...started.flatMap((holdPeriod) => epochViolations(history, holdPeriod))]
  },
}
