/**
 * `Egress` by the `fetch` of a host that opens the connections itself, such as an edge host. An address is
 * checked as it is written, at every hop of a redirect; which addresses a name may lead to is for that
 * host to say, who resolves it.
 */
import { Egress, OutboundRule, RealTime } from "@messaging-service/core"
import type { EgressAnswer, EgressError, OutboundUrl } from "@messaging-service/core"
import { Effect, Layer, Result, Stream } from "effect"
import type { Scope } from "effect"
import {
  connectionError,
  follow,
  limitedBody,
  readable,
  requestHeaders,
  timeoutAfter,
} from "./Fetching.ts"
import type { Hop } from "./Fetching.ts"

/** One request. What is left of its answer is given up with the scope. */
const requested = (
  url: string,
  init: Omit<RequestInit, "redirect" | "signal">,
): Effect.Effect<Response, EgressError, Scope.Scope> =>
  Effect.gen(function* () {
    const given = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort()),
    )
    return yield* Effect.tryPromise({
      try: () => fetch(url, { ...init, redirect: "manual", signal: given.signal }),
      catch: connectionError,
    })
  })

const get = ({ href }: OutboundUrl): Effect.Effect<Hop<Response>, EgressError, Scope.Scope> =>
  Effect.map(requested(href, { headers: requestHeaders }), (response) => {
    const location = response.headers.get("location")
    return {
      response,
      status: response.status,
      locations: location === null ? [] : [location],
      // The connections are the host's.
      close: Effect.void,
    }
  })

/** Reads `OutboundRule` when it is built. */
export const layerFetchEgress: Layer.Layer<Egress> = Layer.effect(
  Egress,
  Effect.gen(function* () {
    const rule = yield* OutboundRule
    const { sleep } = yield* RealTime

    const within = <A, R>(effect: Effect.Effect<A, EgressError, R>, millis: number) =>
      Effect.raceFirst(effect, timeoutAfter(sleep, millis))

    return Egress.of({
      allows: (text) => Effect.sync(() => Result.isSuccess(readable(text, rule))),
      fetch: Effect.fn("Egress.fetch")(function* (text, limits) {
        const before = performance.now()
        const { response, url } = yield* within(
          follow(get, rule, text, limits.redirects),
          limits.timeoutMillis,
        )
        const { body, headers, status } = response
        const millisLeft = Math.max(0, limits.timeoutMillis - (performance.now() - before))
        return {
          status,
          headers: Object.fromEntries(headers),
          url: url.href,
          body: Stream.interruptWhen(
            limitedBody(body, Number(headers.get("content-length")), limits.maximumBytes),
            timeoutAfter(sleep, millisLeft),
          ),
        } satisfies EgressAnswer
      }),
      post: Effect.fn("Egress.post")(function* (text, { allowHttp, body, headers }, limits) {
        const { href } = yield* Effect.fromResult(readable(text, rule, allowHttp))
        const answered = Effect.map(
          requested(href, { method: "POST", headers, body }),
          (response) => ({
            status: response.status,
            headers: Object.fromEntries(response.headers),
          }),
        )
        return yield* within(Effect.scoped(answered), limits.timeoutMillis)
      }),
    })
  }),
)
