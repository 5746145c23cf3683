/**
 * Counts requests and how long their answers took. The labels are the prefix of a part of the interface
 * (`surface`), a path of a route table, a method and a status, never what a client made up: so there are
 * only so many, and each is made when it is first met.
 */
import { Effect, Metric } from "effect"
import { none } from "./route/IncomingRequest.ts"
import type { IncomingRequest } from "./route/IncomingRequest.ts"

/** In place of a status, when the client went away before there was an answer. */
export const noAnswer = 0

const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Seconds. */
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Route {
  readonly labels: Readonly<Record<string, string>>
  readonly duration: Metric.Histogram<number>
  readonly byStatus: Map<number, Metric.Counter<number>>
}

const routeOf = (prefix: string, method: string, route: string): Route => {
  const labels = { surface: prefix, method, route }
  return {
    labels,
    duration: Metric.histogram("messaging_http_request_duration_seconds", {
      description: "Seconds from a request to its answer, the bytes of files aside.",
      attributes: labels,
      boundaries,
    }),
    byStatus: new Map(),
  }
}

const counterOf = ({ labels }: Route, status: number) =>
  Metric.counter("messaging_http_requests_total", {
    description: "Requests that this process has answered, or whose client went away before.",
    attributes: { ...labels, status: status === noAnswer ? none : String(status) },
    incremental: true,
  })

/**
 * Makes the function that counts a request, and how many seconds it took. It writes to the registry of
 * metrics of the context in which it was made.
 */
export const requestMeter = Effect.map(Effect.context<never>(), (context) => {
  const routes = new Map<string, Route>()
  return (
    prefix: string,
    { request, route }: IncomingRequest,
    status: number,
    seconds: number,
  ): void => {
    const method = knownMethods.has(request.method) ? request.method : "other"
    const key = `${prefix} ${method} ${route}`
    let found = routes.get(key)
    if (found === undefined) {
      found = routeOf(prefix, method, route)
      routes.set(key, found)
    }
    let counter = found.byStatus.get(status)
    if (counter === undefined) {
      counter = counterOf(found, status)
      found.byStatus.set(status, counter)
    }
    counter.updateUnsafe(1, context)
    if (status !== noAnswer) found.duration.updateUnsafe(seconds, context)
  }
})
