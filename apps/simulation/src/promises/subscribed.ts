/** An endpoint gets only subscribed events, and none once its end was answered. */
import type { History } from "../History.ts"
import { endpointsOf, graceOf, isDone, skewOf } from "./endpoints.ts"
import type { EndpointHistory } from "./endpoints.ts"
import type { JudgedPromise } from "./Promise.ts"

/** Maximum of running endpoints in a workspace. */
const maximumRunning = 5

type FinalEvent = History["final"]["events"][number]

/** Whether this endpoint subscribed to an event, created while the endpoint may have existed. */
const fits = (
  { makes, wanted }: EndpointHistory,
  event: FinalEvent,
  marginMillis: number,
): boolean => {
  const since = Math.min(...makes.map(({ askedAt }) => askedAt))
  return (
    wanted.events.includes(event.type) &&
    wanted.mode === event.mode &&
    event.createdAt >= since - marginMillis
  )
}

/** A time of the service, far enough from one of the world for its clocks and its slow commits. */
const marginOf = (history: History): number =>
  history.setting.isPunctual ? 0 : 60_000 + skewOf(history) + graceOf(history)(0)

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
    for (const endpoint of endpointsOf(history)) {
      const { changes, made, told, url } = endpoint
      const pings = (changes.Ping ?? []).filter(({ answer }) => answer?._tag !== "Refused")
      for (const { body, calledAt, eventId, type } of told) {
        if (type === "ping") {
          const { data } = JSON.parse(body) as { readonly data: { readonly webhook_id: number } }
          const id = made?.answer?._tag === "Made" ? made.answer.id : data.webhook_id
          const isAsked = pings.some(({ askedAt }) => askedAt <= calledAt)
          const isRepeated = (changes.Redeliver ?? []).some(({ ask }) =>
            "eventId" in ask ? ask.eventId === eventId : false,
          )
          if (data.webhook_id !== id || !(isAsked || isRepeated)) {
            violations.push(`${url} was told ${eventId}, a ping that is not its own`)
          }
          continue
        }
        const event = events.get(eventId)
        if (event === undefined || !own.has(event.messageId)) {
          violations.push(`${url} was told ${eventId}, which is not of its workspace`)
        } else if (!fits(endpoint, event, marginOf(history))) {
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
        (resume) => resume.answered > end.asked && resume.askedAt <= at,
      ),
  })),
]

export const stopped: JudgedPromise = {
  name: "stopped endpoints",
  check: (history) => {
    const violations: Array<string> = []
    const graceAt = graceOf(history)
    const endpoints = endpointsOf(history)
    for (const endpoint of endpoints) {
      const { revocations, told, url } = endpoint
      const final = history.final.endpoints.filter((each) => each.url === url)
      if (final.length > 1) violations.push(`${url} is stored ${final.length} times`)
      const over = ends(endpoint)
      for (const { calledAt, eventId } of told) {
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
      const isRemovalAsked = (endpoint.changes.RemoveEndpoint ?? []).length > 0
      if (last === undefined && endpoint.made !== null && !isRemovalAsked) {
        violations.push(`${url} was made and is gone`)
      }
    }
    const running = history.final.endpoints.filter(({ disabledReason }) => disabledReason === null)
    if (running.length > maximumRunning) violations.push(`${running.length} endpoints run`)
    return violations
  },
}
