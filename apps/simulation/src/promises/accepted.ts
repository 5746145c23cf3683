/** Every refusal has its reason: whatever fits a number and a plan is accepted. */
import type { CallRequest, History } from "../History.ts"
import { toName } from "../History.ts"
import {
  getCalls,
  getControls,
  getHolds,
  isRefunded,
  getSends,
  reportedMessages,
  reportedStates,
} from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

type Send = Extract<CallRequest, { readonly _tag: "Send" }>
type SendCall = Call & { readonly request: Send }

/** The workspace of a send. */
const toCategory = ({ fate, isProbe }: Send): "audited" | "deleted" | "probes" => {
  if (fate === "deleted") return fate
  return isProbe || fate !== undefined ? "probes" : "audited"
}

/** Whether both may be of one number. */
const mayShareNumber = (a: Send, b: Send): boolean =>
  a.leavesOutNumber === true || b.leavesOutNumber === true || a.number === b.number

/** The input for judging a refusal. */
interface Facts {
  readonly history: History
  readonly sends: ReadonlyArray<SendCall>
  /** When a message is first known to have been refunded, by name. */
  readonly refunded: ReadonlyMap<string, number>
}

const collectFacts = (history: History): Facts => {
  const refunded = new Map<string, number>()
  const note = (name: string, index: number) => {
    refunded.set(name, Math.min(index, refunded.get(name) ?? Infinity))
  }
  for (const { answered, name, state } of reportedStates(history)) {
    if (isRefunded(state)) note(name, answered)
  }
  for (const { index, name, type } of reportedMessages(history)) {
    if (name !== null && (type === "message.cancelled" || type === "message.expired")) {
      note(name, index)
    }
  }
  return { history, sends: getSends(history), refunded }
}

/**
 * The maximum of counted messages when that call was answered: all requested ones, except those
 * refused or known to be refunded, and runs of reminders.
 */
const maxCounted = (facts: Facts, refused: SendCall, isOfNumber: boolean): number => {
  const { refunded, history, sends } = facts
  const { request, answered, requestIndex, call } = refused
  const category = toCategory(request)
  const same = sends.filter(
    (each) =>
      each.call !== call &&
      each.request.mode === "live" &&
      toCategory(each.request) === category &&
      each.requestIndex < answered &&
      (each.answer?._tag !== "Refused" || each.answered > requestIndex) &&
      (!isOfNumber || mayShareNumber(each.request, request)),
  )
  const names = new Set(
    same.flatMap(({ request: other }) => other.phones.map((phone) => toName(other.text, phone))),
  )
  const counted = Array.from(names).filter(
    (name) => !((refunded.get(name) ?? Infinity) < requestIndex),
  )
  const texts = new Set(sends.map((each) => each.request.text))
  const runs = history.final.messages.filter(({ text }) => !texts.has(text))
  return counted.length + (category === "audited" ? runs.length : 0)
}

const roomViolation = (facts: Facts, call: SendCall, isOfNumber: boolean): string | null => {
  const { allowance, quota } = facts.history.setting
  const { request } = call
  const isUnlimited = !isOfNumber && toCategory(request) !== "audited"
  const max = isUnlimited ? Infinity : isOfNumber ? quota : allowance
  const counted = maxCounted(facts, call, isOfNumber)
  return counted + request.phones.length <= max ? `there were ${counted} of ${max} at most` : null
}

/** Whether it was asked before then that a workspace be disabled. */
const wasDisabled = (history: History, before: number): boolean =>
  getControls(history).some(
    ({ request, requestIndex }) =>
      request.key.startsWith("workspace ") &&
      request.value._tag === "Stopped" &&
      requestIndex < before,
  )

/** Why a refusal is wrong; null where it has its reason. */
const findViolation = (facts: Facts, call: SendCall): string | null => {
  const { history, sends } = facts
  const { answer, answered, answeredAt, request, requestIndex } = call
  if (answer?._tag !== "Refused") return null
  const isCalm = requestIndex > history.entries.findIndex(({ _tag }) => _tag === "Calm")
  // A refusal frees its key; one of a process that died holds it for a while.
  const ofKey = (isOther: boolean) =>
    sends.some(
      (each) =>
        each.request.idempotencyKey === request.idempotencyKey &&
        each.requestIndex < answered &&
        (isOther
          ? each.request.text !== request.text && each.answer?._tag !== "Refused"
          : each.call !== call.call && (!isCalm || each.answered > requestIndex)),
    )
  const isControlled = (key: string) =>
    getControls(history).some(
      (control) => control.request.key === key && control.requestIndex < answered,
    )
  const unless = (isDue: boolean, why: string) => (isDue ? null : why)
  switch (answer.code) {
    case "no_credits":
      if (request.fate === "planned") return null
      return roomViolation(facts, call, false)
    case "number_daily_cap_reached":
      return roomViolation(facts, call, true)
    case "number_not_found": {
      const number = history.final.numbers[request.number]
      const isGone = request.fate === "deleted" || isControlled(`removal ${number}`)
      return unless(isGone, "its number was not removed")
    }
    case "contact_not_found":
      return unless(isControlled(`contact ${request.contact}`), "its contact was not deleted")
    case "media_not_found": {
      const { media } = request
      const isDeleted =
        media !== undefined &&
        "file" in media &&
        getCalls(history).some(
          (other) =>
            other.request._tag === "DeleteFile" &&
            other.request.file === media.file &&
            other.requestIndex < answered,
        )
      return unless(isDeleted, "its file was not deleted")
    }
    case "number_not_allowed":
      return unless(
        (request.onlyNumber ?? request.number) !== request.number,
        "its key may use its number",
      )
    case "account_disabled":
      return unless(wasDisabled(history, answered), "its workspace was not disabled")
    case "api_key_revoked":
      return unless(request.key !== undefined, "its key is never revoked")
    case "from_required":
      return unless(request.leavesOutNumber === true, "it names a number")
    case "idempotency_key_reused":
      return unless(ofKey(true), "nothing else came with its key")
    case "idempotency_in_progress":
      return unless(ofKey(false), "nothing was under way with its key")
    case "time_in_past": {
      const first = Math.min(request.sendAt ?? Infinity, request.expiresAt ?? Infinity)
      const isPast = first <= answeredAt || !history.setting.hasTrueClocks
      return unless(isPast, `its time comes ${first - answeredAt} ms later`)
    }
    default:
      return request.fate === "deleted" ? null : "nothing about it is wrong"
  }
}

/** Messages of a number in calm that certainly count together: no more than the number may send. */
const crowdedViolations = ({ history, sends }: Facts): ReadonlyArray<string> => {
  const saturated = sends.filter(({ request }) => request.fate === "saturated")
  const accepted = saturated.filter(({ answer }) => answer?._tag === "Accepted")
  const names = new Set(
    accepted.map(({ request }) => toName(request.text, request.phones[0] ?? "")),
  )
  const cancelled = reportedStates(history).filter(
    ({ name, state }) => names.has(name) && state === "cancelled",
  )
  const left = accepted.length - cancelled.length
  const { quota } = history.setting
  return left > quota ? [`${left} were accepted of a number that may send ${quota}`] : []
}

/** In calm a plan's room is exact, whatever came before it. */
const planViolations = ({ history, sends }: Facts): ReadonlyArray<string> =>
  getHolds(history).flatMap(({ control: { value }, from, to }) => {
    if (value._tag !== "Planned") return []
    const within = sends.filter(
      ({ request, requestIndex }) =>
        request.fate === "planned" && requestIndex > from && requestIndex < to,
    )
    const taken = within.filter(({ answer }) => answer?._tag === "Accepted").length
    const room = Math.min(within.length, value.messages ?? Infinity)
    return taken === room ? [] : [`${taken} of ${within.length} fit a plan of ${value.messages}`]
  })

export const accepted: JudgedPromise = {
  name: "refusals",
  check: (history) => {
    const facts = collectFacts(history)
    return [
      ...facts.sends.flatMap((call) => {
        const violation = findViolation(facts, call)
        const code = call.answer?._tag === "Refused" ? call.answer.code : ""
        return violation === null
          ? []
          : [`${call.request.text} was refused (${code}): ${violation}`]
      }),
      ...crowdedViolations(facts),
      ...planViolations(facts),
    ]
  },
}
