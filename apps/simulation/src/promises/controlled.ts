/** A paused number sends nothing, a paced one sends slowly, and a refused one rests. */
import type { CallRequest, Control, History } from "../History.ts"
import {
  getControls,
  getHandovers,
  getHolds,
  isTrueBehind,
  toText,
  messagesByName,
  getSends,
} from "./Promise.ts"
import type { HoldPeriod, JudgedPromise } from "./Promise.ts"

/** Nothing of a stopped number is handed over, except what a transport already had. */
const stoppedViolations = (history: History): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const handed = getHandovers(history)
  const firstRequest = new Map<string, number>()
  for (const { request, requestIndex } of getSends(history)) {
    if (!firstRequest.has(request.text)) firstRequest.set(request.text, requestIndex)
  }
  for (const { control, from, to } of getHolds(history)) {
    if (control.value._tag !== "Stopped") continue
    const { until } = control.value
    const answeredAt = history.entries[from]?.at ?? 0
    for (const { at, issuedAt, index, name, number } of handed) {
      if (index < from || index > to || !control.numbers.includes(number)) continue
      const text = toText(name)
      // It was sent after everything had stopped, so no transport had it.
      const isNew = until === null && (firstRequest.get(text) ?? 0) > from
      const isTimely =
        isTrueBehind(history, from) && issuedAt > answeredAt && (until === null || at < until)
      if (isNew || isTimely) {
        violations.push(
          `${name} was handed over ${at - answeredAt} ms after ${control.key} stopped`,
        )
      }
    }
  }
  return violations
}

/** A copy later than this after the handover may belong to a dead worker. */
const soonMillis = 25_000
const minuteMillis = 60_000

/** The shortest rest, the limit of a minute, and new recipients. */
const pacedViolations = (history: History, holdPeriod: HoldPeriod): ReadonlyArray<string> => {
  const { control, from, to } = holdPeriod
  if (control.value._tag !== "Paced" || control.value.pacing === null) return []
  const { minIntervalMillis, newRecipientsPerDay, perMinute } = control.value.pacing
  const violations: Array<string> = []
  const answeredAt = history.entries[from]?.at ?? 0
  const ofNumber = getHandovers(history).filter(({ number }) => control.numbers.includes(number))
  const numberOf = new Map(ofNumber.map(({ name, number }) => [name, number]))
  const isStored = new Map(history.final.messages.map((message) => [message.name, message]))
  // A shown message that is not audited left when it was shown, within the time that answers take.
  const sent = [
    ...history.final.messages.flatMap(({ mode, name, number, sentAt }) =>
      sentAt !== null && mode === "live" && control.numbers.includes(number)
        ? [{ name, sentAt }]
        : [],
    ),
    ...history.entries.flatMap((entry) =>
      entry._tag === "Shown" && numberOf.has(entry.name) && !isStored.has(entry.name)
        ? [{ name: entry.name, sentAt: entry.at }]
        : [],
    ),
  ]
  // What a transport already had leaves unchanged, and so does its rest.
  const paced = ofNumber.filter(
    ({ issuedAt, index }) => index > from && index < to && issuedAt > answeredAt,
  )
  const withMedia = new Set(
    getSends(history).flatMap(({ request }) => (request.media === undefined ? [] : [request.text])),
  )
  for (const { at, name } of paced) {
    // A worker that was fetching its file had claimed it under the former pacing.
    if (withMedia.has(toText(name)) && at - answeredAt < soonMillis) continue
    const before = sent.filter((message) => message.name !== name && message.sentAt < at)
    const inMinute = before.filter(({ sentAt }) => sentAt > at - minuteMillis).length
    if (perMinute !== null && inMinute >= perMinute) {
      violations.push(`${name} left although ${inMinute} had left within a minute`)
    }
    const phone = name.slice(name.lastIndexOf(">"))
    const phones = new Set(before.map((message) => message.name.slice(-phone.length)))
    if (newRecipientsPerDay !== null && !phones.has(phone) && phones.size >= newRecipientsPerDay) {
      violations.push(`${name} went to a new recipient after ${phones.size} others`)
    }
  }
  if (minIntervalMillis === null) return violations
  for (const [index, entry] of history.entries.entries()) {
    if (entry._tag !== "Shown" || index < from || index > to) continue
    const own = paced.findLast((one) => one.name === entry.name && one.index < index)
    if (own === undefined || entry.at - own.at > soonMillis) continue
    const next = paced.find((one) => one.index > index && one.name !== entry.name)
    if (next !== undefined && next.at - entry.at < minIntervalMillis) {
      violations.push(
        `${next.name} left ${next.at - entry.at} ms after ${entry.name} in place of ${minIntervalMillis}`,
      )
    }
  }
  return violations
}

export const controlled: JudgedPromise = {
  name: "controls",
  check: (history) => [
    ...stoppedViolations(history),
    ...getHolds(history)
      .filter(({ from }) => isTrueBehind(history, from))
      .flatMap((holdPeriod) => pacedViolations(history, holdPeriod)),
  ],
}

const maxRefusals = 5

const isResume = (request: CallRequest): request is Control =>
  request._tag === "Control" && request.key.startsWith("pause") && request.value._tag === "Open"

const pauseMillis = 3_600_000

/** Five consecutive refusals because of the number pause it for an hour, unless an operator resumes it. */
export const paused: JudgedPromise = {
  name: "breaker",
  check: (history) => {
    const violations: Array<string> = []
    const calm = history.entries.findIndex(({ _tag }) => _tag === "Calm")
    const stored = messagesByName(history)
    const resumes = getControls(history).filter(({ request }) => isResume(request))
    const refused = new Map<number, Array<string>>()
    for (const [index, entry] of history.entries.entries()) {
      if (entry._tag === "Asked" && isResume(entry.request)) {
        // A pause that began earlier than observed ends with it: the count restarts.
        for (const number of entry.request.numbers) refused.delete(number)
      }
      if (entry._tag !== "Said") continue
      const { name, number } = entry
      const inARow = refused.get(number) ?? []
      refused.set(number, inARow)
      if (entry.outcome === "Accepted") inARow.length = 0
      // Its result was recorded with it.
      const isNoted =
        index > calm ||
        (history.setting.isTimeTrue &&
          stored.get(name)?.every(({ error }) => error === "send_failed") === true)
      if (!entry.againstNumber || !isNoted) continue
      inARow.push(name)
      if (inARow.length < maxRefusals) continue
      inARow.length = 0
      const end = entry.at + pauseMillis
      const resumed = resumes.find(
        ({ answered, request }) => request.numbers.includes(number) && answered > index,
      )
      const next = getHandovers(history).find((one) => one.number === number && one.index > index)
      if (next !== undefined && next.at < end && next.index < (resumed?.requestIndex ?? Infinity)) {
        violations.push(`${next.name} was handed over although its number had been refused`)
      }
    }
    return violations
  },
}
