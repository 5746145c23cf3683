/**
 * Events while an endpoint runs are delivered to it at least once, by calm; so are redeliveries and pings.
 */
import { cutStop } from "../History.ts"
import type { ChangeEndpoint, History } from "../History.ts"
import { getEndpoints, isDone, latestEffectAt, clockSkew, getNotifications } from "./endpoints.ts"
import type { EndpointHistory, Notification } from "./endpoints.ts"
import { getControls } from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

/** From when on an endpoint certainly runs to the end; Infinity when it may not. */
const runsSince = ({ changes, created, revocations }: EndpointHistory): number => {
  if (created === null || (changes.RemoveEndpoint ?? []).length > 0) return Infinity
  const last = Math.max(-Infinity, ...revocations.map(latestEffectAt))
  if (last === -Infinity) return created.answeredAt
  const resumed = (changes.ResumeEndpoint ?? []).filter(
    (resume) => isDone(resume) && resume.requestedAt > last,
  )
  return Math.min(Infinity, ...resumed.map(({ answeredAt }) => answeredAt))
}

/** Whether the response to a call was right, given what the endpoint may receive. */
const misjudged = (
  history: History,
  endpoint: EndpointHistory,
  { answer, answeredAt, request }: Call,
): string | null => {
  if (answer?._tag !== "Refused") return null
  const mayBe = (calls: ReadonlyArray<Call> | undefined) =>
    (calls ?? []).some(({ requestedAt }) => requestedAt <= answeredAt)
  const { changes, created, revocations, requested } = endpoint
  if (answer.code === "webhook_not_found" && !mayBe(changes.RemoveEndpoint)) {
    return "is not found, and was not removed"
  }
  if (answer.code === "webhook_stopped" && !mayBe(revocations)) return "has stopped for no reason"
  if (answer.code !== "event_not_found") return null
  const { eventId } = request as ChangeEndpoint
  const event = history.final.events.find((each) => each.eventId === eventId)
  const isOwn =
    event !== undefined &&
    created !== null &&
    requested.events.includes(event.type) &&
    requested.mode === event.mode &&
    history.final.messages.some(({ id }) => id === event.messageId) &&
    event.createdAt > created.answeredAt + clockSkew(history)
  return isOwn ? `does not find ${eventId}` : null
}

/** Events that no call named although their endpoint recovered after them, and runs to the end. */
const unrecovered = (
  { final, setting }: History,
  { changes, created, notifications, requested }: EndpointHistory,
  since: number,
  skew: number,
): ReadonlyArray<string> => {
  const own = new Set(final.messages.map(({ id }) => id))
  const heard = new Set(notifications.flatMap((call) => (call.heard ? [call.eventId] : [])))
  const recoveries = (changes.Recover ?? []).filter(
    (call) => isDone(call) && call.requestedAt >= since,
  )
  if (!setting.isPunctual && skew > 0) return []
  return final.events.flatMap(({ createdAt, eventId, messageId, mode, type }) => {
    const isDue =
      own.has(messageId) &&
      requested.mode === mode &&
      requested.events.includes(type) &&
      createdAt > (created?.answeredAt ?? Infinity) &&
      // Asked five minutes back at most, and repeated for a while.
      recoveries.some(
        ({ requestedAt }) => createdAt < requestedAt && createdAt > requestedAt - 240_000,
      )
    return isDue && !heard.has(eventId) ? [eventId] : []
  })
}

export const delivered: JudgedPromise = {
  name: "deliveries",
  check: (history) => {
    const violations: Array<string> = []
    const { events, messages } = history.final
    const own = new Set(messages.map(({ id }) => id))
    for (const endpoint of getEndpoints(history)) {
      const { changes, notifications, url, requested } = endpoint
      const since = runsSince(endpoint)
      const last = history.final.endpoints.find((each) => each.url === url)
      if (since < Infinity && last?.disabledReason !== null) {
        violations.push(`${url} was resumed and has stopped`)
      }
      const heard = notifications.filter((call) => call.heard)
      const heardIds = new Set(heard.map(({ eventId }) => eventId))
      for (const { createdAt, eventId, messageId, mode, type } of events) {
        const isDue =
          own.has(messageId) &&
          requested.mode === mode &&
          requested.events.includes(type) &&
          createdAt > since + clockSkew(history)
        if (isDue && !heardIds.has(eventId)) {
          violations.push(`${type} ${eventId} never arrived at ${url}`)
        }
      }
      for (const eventId of unrecovered(history, endpoint, since, clockSkew(history))) {
        violations.push(`${eventId} was recovered for ${url} and never arrived`)
      }
      const requests = [...(changes.Ping ?? []), ...(changes.Redeliver ?? [])]
      for (const call of [...requests, ...(changes.RotateSecret ?? [])]) {
        const wrong = misjudged(history, endpoint, call)
        if (wrong !== null) violations.push(`${url} ${wrong}`)
      }
      for (const { answer, requestedAt } of requests) {
        if (answer?._tag !== "Queued" || requestedAt < since) continue
        const { eventId } = answer
        if (!heard.some((call) => call.eventId === eventId && call.calledAt >= requestedAt)) {
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

/** When every process dies in calm; Infinity when none does. */
const getDeath = (history: History): number =>
  getControls(history).find(
    ({ request: { key, value } }) => key === `campaign ${cutStop}` && value._tag === "Stopped",
  )?.requestedAt ?? Infinity

/** The first two delays after a failed delivery, and the maximum jitter of each. */
const retryMillis = [5000, 55_000]
const longest = 1.05

/** Deliveries of one event in calm, each in its time after the one before, until one succeeds. */
const lateRetries = (calls: ReadonlyArray<Notification>): ReadonlyArray<string> =>
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
const maxAttempts = 9

/**
 * Events that failed a while before their endpoint accepted another one at that time, and came late after it.
 * One that failed although its endpoint accepted others may have been brought forward in vain.
 */
const lateForward = (
  received: ReadonlyArray<Notification>,
  { calledAt: at }: Notification,
): ReadonlyArray<string> =>
  [...Map.groupBy(received, ({ eventId }) => eventId)].flatMap(([eventId, calls]) => {
    const before = calls.filter(({ calledAt }) => calledAt < at)
    const last = before.at(-1)
    if (last === undefined || last.calledAt > at - forwardMillis) return []
    if (before.length >= maxAttempts || before.some(({ heard }) => heard)) return []
    const since = before.at(-2)?.calledAt ?? -Infinity
    const isOwn = received.some(
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
    return getEndpoints(history).flatMap(({ changes, revocations, notifications }) => {
      if (revocations.length > 0 || (changes.RemoveEndpoint ?? []).length > 0) return []
      const first = notifications.find(
        ({ calledAt, heard }) => heard && calledAt > calm + restartMillis,
      )
      return first === undefined ? [] : lateForward(notifications, first)
    })
  },
}

export const promptlyDelivered: JudgedPromise = {
  name: "late deliveries",
  check: (history) => {
    const received = Map.groupBy(getNotifications(history), ({ eventId }) => eventId)
    const own = new Set(history.final.messages.map(({ id }) => id))
    const calm = history.entries.find(({ _tag }) => _tag === "Calm")?.at ?? Infinity
    const allWell = calm + restartMillis
    const death = getDeath(history)
    return history.final.events.flatMap(({ createdAt, eventId, messageId }) => {
      if (createdAt <= allWell || own.has(messageId)) return []
      if (createdAt > death - promptMillis && createdAt <= death + restartMillis) return []
      const calls = received.get(eventId) ?? []
      const late = (calls[0]?.calledAt ?? createdAt) - createdAt
      return late > promptMillis
        ? [`${eventId} was told ${late} ms after it happened, all being well`]
        : lateRetries(calls)
    })
  },
}
