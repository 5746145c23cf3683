/** An endpoint gets only subscribed events, and none once its end was answered. */
import type { History } from "../History.ts"
import { getEndpoints, graceBy, isDone, clockSkew } from "./endpoints.ts"
import type { EndpointHistory } from "./endpoints.ts"
import type { JudgedPromise } from "./Promise.ts"

/** Maximum of running endpoints in a workspace. */
const maximumRunning = 5

type FinalEvent = History["final"]["events"][number]

/** Whether this endpoint subscribed to an event, created while the endpoint may have existed. */
const fits = (
  { makes, requested }: EndpointHistory,
  event: FinalEvent,
  marginMillis: number,
): boolean => {
  const since = Math.min(...makes.map(({ requestedAt }) => requestedAt))
  return (
    requested.events.includes(event.type) &&
    requested.mode === event.mode &&
    event.createdAt >= since - marginMillis
  )
}

/** A time of the service, far enough from one of the world for its clocks and its slow commits. */
const getMargin = (history: History): number =>
  history.setting.isPunctual ? 0 : 60_000 + clockSkew(history) + graceBy(history)(0)

const removed = (endpoint: EndpointHistory) =>
  (endpoint.changes.RemoveEndpoint ?? []).filter(
    (call) =>
      isDone(call) ||
      // A record that a caller knew is gone.
      (call.answer?._tag === "Refused" && call.answer.code === "webhook_not_found"),
  )

export const subscribed: JudgedPromise = {
  name: "subscriptions",
  check: (history) => {
    const violations: Array<string> = []
    const events = new Map(history.final.events.map((event) => [event.eventId, event]))
    const own = new Set(history.final.messages.map(({ id }) => id))
    for (const endpoint of getEndpoints(history)) {
      const { changes, created, notifications, url } = endpoint
      const pings = (changes.Ping ?? []).filter(({ answer }) => answer?._tag !== "Refused")
      for (const { body, calledAt, eventId, type } of notifications) {
        if (type === "ping") {
          const { data } = JSON.parse(body) as { readonly data: { readonly webhook_id: number } }
          const id = created?.answer?._tag === "Made" ? created.answer.id : data.webhook_id
          const isRequested = pings.some(({ requestedAt }) => requestedAt <= calledAt)
          const isRepeated = (changes.Redeliver ?? []).some(({ request }) =>
            "eventId" in request ? request.eventId === eventId : false,
          )
          if (data.webhook_id !== id || !(isRequested || isRepeated)) {
            violations.push(`${url} was told ${eventId}, a ping that is not its own`)
          }
          continue
        }
        const event = events.get(eventId)
        if (event === undefined || !own.has(event.messageId)) {
          violations.push(`${url} was told ${eventId}, which is not of its workspace`)
        } else if (!fits(endpoint, event, getMargin(history))) {
          violations.push(`${url} was told ${type} ${eventId}, for which it did not ask`)
        }
      }
    }
    return violations
  },
}

/** When an endpoint's end was answered, and whether it may run again since. */
const ends = (endpoint: EndpointHistory) => [
  ...removed(endpoint).map((end) => ({ end, why: "was removed", isOver: () => true })),
  ...endpoint.revocations.filter(isDone).map((end) => ({
    end,
    why: "was stopped with its key",
    isOver: (at: number) =>
      !(endpoint.changes.ResumeEndpoint ?? []).some(
        (resume) => resume.answered > end.requestIndex && resume.requestedAt <= at,
      ),
  })),
]

export const stopped: JudgedPromise = {
  name: "stopped endpoints",
  check: (history) => {
    const violations: Array<string> = []
    const graceAt = graceBy(history)
    const endpoints = getEndpoints(history)
    for (const endpoint of endpoints) {
      const { revocations, notifications, url } = endpoint
      const final = history.final.endpoints.filter((each) => each.url === url)
      if (final.length > 1) violations.push(`${url} is stored ${final.length} times`)
      const over = ends(endpoint)
      for (const { calledAt, eventId } of notifications) {
        for (const { end, isOver, why } of over) {
          const late = calledAt - end.answeredAt
          if (late > graceAt(calledAt) && isOver(calledAt)) {
            violations.push(`${url} was told ${eventId} ${late} ms after it ${why}`)
          }
        }
      }
      const [last] = final
      if (last !== undefined && removed(endpoint).length > 0) {
        violations.push(`${url} is there after it was removed`)
      }
      for (const { end, isOver, why } of over) {
        if (last?.disabledReason === null && isOver(end.answeredAt) && isOver(Infinity)) {
          violations.push(`${url} runs and ${why}`)
        }
      }
      if (last !== undefined && last.disabledReason !== null && revocations.length === 0) {
        violations.push(`${url} has stopped for ${last.disabledReason}, and nothing stopped it`)
      }
      const isRemovalRequested = (endpoint.changes.RemoveEndpoint ?? []).length > 0
      if (last === undefined && endpoint.created !== null && !isRemovalRequested) {
        violations.push(`${url} was made and is gone`)
      }
    }
    const running = history.final.endpoints.filter(({ disabledReason }) => disabledReason === null)
    if (running.length > maximumRunning) violations.push(`${running.length} endpoints run`)
    return violations
  },
}
