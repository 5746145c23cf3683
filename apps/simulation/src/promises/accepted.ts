/** Every refusal has its reason: whatever fits a number and a plan is accepted. */
import type { Ask, History } from "../History.ts"
import { nameOf } from "../History.ts"
import {
  callsOf,
  controlsOf,
  heldOf,
  isGivenBack,
  sendsOf,
  toldMessages,
  toldStates,
} from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

type Send = Extract<Ask, { readonly _tag: "Send" }>
type SendCall = Call & { readonly ask: Send }

/** The workspace of a send. */
const placeOf = ({ fate, isProbe }: Send): "audited" | "deleted" | "probes" => {
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
  readonly givenBack: ReadonlyMap<string, number>
}

const factsOf = (history: History): Facts => {
  const givenBack = new Map<string, number>()
  const note = (name: string, index: number) => {
    givenBack.set(name, Math.min(index, givenBack.get(name) ?? Infinity))
  }
  for (const { answered, name, state } of toldStates(history)) {
    if (isGivenBack(state)) note(name, answered)
  }
  for (const { index, name, type } of toldMessages(history)) {
    if (name !== null && (type === "message.cancelled" || type === "message.expired")) {
      note(name, index)
    }
  }
  return { history, sends: sendsOf(history), givenBack }
}

/**
 * The maximum of counted messages when that call was answered: all requested ones, except those
 * refused or known to be refunded, and runs of reminders.
 */
const mostCounted = (facts: Facts, refused: SendCall, isOfNumber: boolean): number => {
  const { givenBack, history, sends } = facts
  const { ask, answered, asked, call } = refused
  const place = placeOf(ask)
  const same = sends.filter(
    (each) =>
      each.call !== call &&
      each.ask.mode === "live" &&
      placeOf(each.ask) === place &&
      each.asked < answered &&
      (each.answer?._tag !== "Refused" || each.answered > asked) &&
      (!isOfNumber || mayShareNumber(each.ask, ask)),
  )
  const names = new Set(
    same.flatMap(({ ask: other }) => other.phones.map((phone) => nameOf(other.text, phone))),
  )
  const counted = Array.from(names).filter((name) => !((givenBack.get(name) ?? Infinity) < asked))
  const texts = new Set(sends.map((each) => each.ask.text))
  const runs = history.final.messages.filter(({ text }) => !texts.has(text))
  return counted.length + (place === "audited" ? runs.length : 0)
}

const roomViolation = (facts: Facts, call: SendCall, isOfNumber: boolean): string | null => {
  const { allowance, quota } = facts.history.setting
  const { ask } = call
  const isUnlimited = !isOfNumber && placeOf(ask) !== "audited"
  const most = isUnlimited ? Infinity : isOfNumber ? quota : allowance
  const counted = mostCounted(facts, call, isOfNumber)
  return counted + ask.phones.length <= most ? `there were ${counted} of ${most} at most` : null
}

/** Whether it was asked before then that a workspace be disabled. */
const wasDisabled = (history: History, before: number): boolean =>
  controlsOf(history).some(
    ({ ask, asked }) =>
      ask.key.startsWith("workspace ") && ask.value._tag === "Stopped" && asked < before,
  )

/** Why a refusal is wrong; null where it has its reason. */
const violationOf = (facts: Facts, call: SendCall): string | null => {
  const { history, sends } = facts
  const { answer, answered, answeredAt, ask, asked } = call
  if (answer?._tag !== "Refused") return null
  const isCalm = asked > history.entries.findIndex(({ _tag }) => _tag === "Calm")
  // A refusal frees its key; one whose process died holds it for a while.
  const ofKey = (isOther: boolean) =>
    sends.some(
      (each) =>
        each.ask.idempotencyKey === ask.idempotencyKey &&
        each.asked < answered &&
        (isOther
          ? each.ask.text !== ask.text && each.answer?._tag !== "Refused"
          : each.call !== call.call && (!isCalm || each.answered > asked)),
    )
  const isControlled = (key: string) =>
    controlsOf(history).some((control) => control.ask.key === key && control.asked < answered)
  const unless = (isDue: boolean, why: string) => (isDue ? null : why)
  switch (answer.code) {
    case "no_credits":
      if (ask.fate === "planned") return null
      return roomViolation(facts, call, false)
    case "number_daily_cap_reached":
      return roomViolation(facts, call, true)
    case "number_not_found": {
      const number = history.final.numbers[ask.number]
      const isGone = ask.fate === "deleted" || isControlled(`removal ${number}`)
      return unless(isGone, "its number was not removed")
    }
    case "contact_not_found":
      return unless(isControlled(`contact ${ask.contact}`), "its contact was not deleted")
    case "media_not_found": {
      const { media } = ask
      const isDeleted =
        media !== undefined &&
        "file" in media &&
        callsOf(history).some(
          (other) =>
            other.ask._tag === "DeleteFile" &&
            other.ask.file === media.file &&
            other.asked < answered,
        )
      return unless(isDeleted, "its file was not deleted")
    }
    case "number_not_allowed":
      return unless((ask.onlyNumber ?? ask.number) !== ask.number, "its key may use its number")
    case "account_disabled":
      return unless(wasDisabled(history, answered), "its workspace was not disabled")
    case "api_key_revoked":
      return unless(ask.key !== undefined, "its key is never revoked")
    case "from_required":
      return unless(ask.leavesOutNumber === true, "it names a number")
    case "idempotency_key_reused":
      return unless(ofKey(true), "nothing else came with its key")
    case "idempotency_in_progress":
      return unless(ofKey(false), "nothing was under way with its key")
    case "time_in_past": {
      const first = Math.min(ask.sendAt ?? Infinity, ask.expiresAt ?? Infinity)
      const isPast = first <= answeredAt || !history.setting.hasTrueClocks
      return unless(isPast, `its time comes ${first - answeredAt} ms later`)
    }
    default:
      return ask.fate === "deleted" ? null : "nothing about it is wrong"
  }
}

/** Messages of a number in calm that certainly count together: no more than the number may send. */
const crowdedViolations = ({ history, sends }: Facts): ReadonlyArray<string> => {
  const saturated = sends.filter(({ ask }) => ask.fate === "saturated")
  const accepted = saturated.filter(({ answer }) => answer?._tag === "Accepted")
  const names = new Set(accepted.map(({ ask }) => nameOf(ask.text, ask.phones[0] ?? "")))
  const cancelled = toldStates(history).filter(
    ({ name, state }) => names.has(name) && state === "cancelled",
  )
  const left = accepted.length - cancelled.length
  const { quota } = history.setting
  return left > quota ? [`${left} were accepted of a number that may send ${quota}`] : []
}

/** In calm a plan's room is exact, whatever came before it. */
const planViolations = ({ history, sends }: Facts): ReadonlyArray<string> =>
  heldOf(history).flatMap(({ control: { value }, from, to }) => {
    if (value._tag !== "Planned") return []
    const within = sends.filter(
      ({ ask, asked }) => ask.fate === "planned" && asked > from && asked < to,
    )
    const taken = within.filter(({ answer }) => answer?._tag === "Accepted").length
    const room = Math.min(within.length, value.messages ?? Infinity)
    return taken === room ? [] : [`${taken} of ${within.length} fit a plan of ${value.messages}`]
  })

export const accepted: JudgedPromise = {
  name: "refusals",
  check: (history) => {
    const facts = factsOf(history)
    return [
      ...facts.sends.flatMap((call) => {
        const violation = violationOf(facts, call)
        const code = call.answer?._tag === "Refused" ? call.answer.code : ""
        return violation === null ? [] : [`${call.ask.text} was refused (${code}): ${violation}`]
      }),
      ...crowdedViolations(facts),
      ...planViolations(facts),
    ]
  },
}
