/**
 * Events while an endpoint runs are delivered to it at least once, by calm; so are redeliveries and pings.
 */
import type { ChangeEndpoint, History } from "../History.ts"
import { endpointsOf, isDone, latestEffectAt, skewOf, toldOf } from "./endpoints.ts"
import type { EndpointHistory, Told } from "./endpoints.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

/** From when on an endpoint certainly runs to the end; Infinity when it may not. */
const runsSince = ({ changes, made, revocations }: EndpointHistory): number => {
  if (made === null || (changes.RemoveEndpoint ?? []).length > 0) return Infinity
  const last = Math.max(-Infinity, ...revocations.map(latestEffectAt))
  if (last === -Infinity) return made.answeredAt
  const resumed = (changes.ResumeEndpoint ?? []).filter(
    (resume) => isDone(resume) && resume.askedAt > last,
  )
  return Math.min(Infinity, ...resumed.map(({ answeredAt }) => answeredAt))
}

/** Whether the response to a call was right, given what the endpoint may receive. */
const misjudged = (
  history: History,
  endpoint: EndpointHistory,
  { answer, answeredAt, ask }: Call,
): string | null => {
  if (answer?._tag !== "Refused") return null
  const mayBe = (calls: ReadonlyArray<Call> | undefined) =>
    (calls ?? []).some(({ askedAt }) => askedAt <= answeredAt)
  const { changes, made, revocations, wanted } = endpoint
  if (answer.code === "webhook_not_found" && !mayBe(changes.RemoveEndpoint)) {
    return "is not found, and was not removed"
  }
  if (answer.code === "webhook_stopped" && !mayBe(revocations)) return "has stopped for no reason"
  if (answer.code !== "event_not_found") return null
  const { eventId } = ask as ChangeEndpoint
  const event = history.final.events.find((each) => each.eventId === eventId)
  const isOwn =
    event !== undefined &&
    made !== null &&
    wanted.events.includes(event.type) &&
    wanted.mode === event.mode &&
    history.final.messages.some(({ id }) => id === event.messageId) &&
    event.createdAt > made.answeredAt + skewOf(history)
  return isOwn ? `does not find ${eventId}` : null
}

/** Events that no call named although their endpoint recovered after them, and runs to the end. */
const unrecovered = (
  { final, setting }: History,
  { changes, made, told, wanted }: EndpointHistory,
  since: number,
  skew: number,
): ReadonlyArray<string> => {
  const own = new Set(final.messages.map(({ id }) => id))
  const heard = new Set(told.flatMap((call) => (call.heard ? [call.eventId] : [])))
  const recoveries = (changes.Recover ?? []).filter((call) => isDone(call) && call.askedAt >= since)
  if (!setting.isPunctual && skew > 0) return []
  return final.events.flatMap(({ createdAt, eventId, messageId, mode, type }) => {
    const isDue =
      own.has(messageId) &&
      wanted.mode === mode &&
      wanted.events.includes(type) &&
      createdAt > (made?.answeredAt ?? Infinity) &&
      // Asked five minutes back at most, and repeated for a while.
      recoveries.some(({ askedAt }) => createdAt < askedAt && createdAt > askedAt - 240_000)
    return isDue && !heard.has(eventId) ? [eventId] : []
  })
}

export const delivered: JudgedPromise = {
  name: "deliveries",
  check: (history) => {
    const violations: Array<string> = []
    const { events, messages } = history.final
    const own = new Set(messages.map(({ id }) => id))
    for (const endpoint of endpointsOf(history)) {
      const { changes, told, url, wanted } = endpoint
      const since = runsSince(endpoint)
      const last = history.final.endpoints.find((each) => each.url === url)
      if (since < Infinity && last?.disabledReason !== null) {
        violations.push(`${url} was resumed and has stopped`)
      }
      const heard = told.filter((call) => call.heard)
      const heardIds = new Set(heard.map(({ eventId }) => eventId))
      for (const { createdAt, eventId, messageId, mode, type } of events) {
        const isDue =
          own.has(messageId) &&
          wanted.mode === mode &&
          wanted.events.includes(type) &&
          createdAt > since + skewOf(history)
        if (isDue && !heardIds.has(eventId)) {
          violations.push(`${type} ${eventId} never arrived at ${url}`)
        }
      }
      for (const eventId of unrecovered(history, endpoint, since, skewOf(history))) {
        violations.push(`${eventId} was recovered for ${url} and never arrived`)
      }
      const asked = [...(changes.Ping ?? []), ...(changes.Redeliver ?? [])]
      for (const call of [...asked, ...(changes.RotateSecret ?? [])]) {
        const wrong = misjudged(history, endpoint, call)
        if (wrong !== null) violations.push(`${url} ${wrong}`)
      }
      for (const { answer, askedAt } of asked) {
        if (answer?._tag !== "Queued" || askedAt < since) continue
        const { eventId } = answer
        if (!heard.some((call) => call.eventId === eventId && call.calledAt >= askedAt)) {
          violations.push(`${eventId} was queued for ${url} and never arrived`)
        }
      }
    }
    return violations
  },
}

/** Idle loops poll every ten minutes in calm: receivers still get later events at once. */
const promptMillis = 2000

/** A process that must end exits in calm, and another one replaces it. */
const restartMillis = 60_000

/** The first two delays after a failed delivery, and the maximum jitter of each. */
const retryMillis = [5000, 55_000]
const longest = 1.05

/** Deliveries of one event in calm, each in its time after the one before, until one succeeds. */
const lateRetries = (calls: ReadonlyArray<Told>): ReadonlyArray<string> =>
  calls.flatMap(({ calledAt, eventId, heard }, index) => {
    const delay = retryMillis[index]
    if (heard || delay === undefined) return []
    const waited = (calls[index + 1]?.calledAt ?? Infinity) - calledAt
    const isInTime = waited >= delay && waited <= delay * longest + promptMillis
    return isInTime ? [] : [`${eventId} was told again after ${waited} ms in place of ${delay}`]
  })

/** Once an endpoint accepts a delivery, what failed before comes within this. */
const forwardMillis = 60_000

/** The most calls of one event, redeliveries aside. */
const mostAttempts = 9

/**
 * Events that failed a while before their endpoint accepted another one at that time, and came late after it.
 * One that failed although its endpoint accepted others may have been brought forward in vain.
 */
const lateForward = (told: ReadonlyArray<Told>, { calledAt: at }: Told): ReadonlyArray<string> =>
  [...Map.groupBy(told, ({ eventId }) => eventId)].flatMap(([eventId, calls]) => {
    const before = calls.filter(({ calledAt }) => calledAt < at)
    const last = before.at(-1)
    if (last === undefined || last.calledAt > at - forwardMillis) return []
    if (before.length >= mostAttempts || before.some(({ heard }) => heard)) return []
    const since = before.at(-2)?.calledAt ?? -Infinity
    const isOwn = told.some(
      ({ calledAt, heard }) => heard && calledAt > since && calledAt < last.calledAt,
    )
    const waited = (calls[before.length]?.calledAt ?? Infinity) - at
    return isOwn || waited <= forwardMillis + promptMillis
      ? []
      : [`${eventId} was told ${waited} ms after its endpoint was back`]
  })

export const broughtForward: JudgedPromise = {
  name: "deliveries come forward",
  check: (history) => {
    const calm = history.entries.find(({ _tag }) => _tag === "Calm")?.at ?? Infinity
    if (!history.setting.hasTrueClocks) return []
    return endpointsOf(history).flatMap(({ changes, revocations, told }) => {
      if (revocations.length > 0 || (changes.RemoveEndpoint ?? []).length > 0) return []
      const first = told.find(({ calledAt, heard }) => heard && calledAt > calm + restartMillis)
      return first === undefined ? [] : lateForward(told, first)
    })
  },
}

export const promptlyDelivered: JudgedPromise = {
  name: "late deliveries",
  check: (history) => {
    const told = Map.groupBy(toldOf(history), ({ eventId }) => eventId)
    const own = new Set(history.final.messages.map(({ id }) => id))
    const calm = history.entries.find(({ _tag }) => _tag === "Calm")?.at ?? Infinity
    const allWell = calm + restartMillis
    return history.final.events.flatMap(({ createdAt, eventId, messageId }) => {
      if (createdAt <= allWell || own.has(messageId)) return []
      const calls = told.get(eventId) ?? []
      const late = (calls[0]?.calledAt ?? createdAt) - createdAt
      return late > promptMillis
        ? [`${eventId} was told ${late} ms after it happened, all being well`]
        : lateRetries(calls)
    })
  },
}
