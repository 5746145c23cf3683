/**
 * `Egress` by the `fetch` of a host that opens the connections itself, such as an edge host. An address is
 * checked as it is written, at every hop of a redirect; which addresses a name may lead to is for that
 * host to say, who resolves it.
 */
import {
  Egress,
  EgressError,
  OutboundRule,
  RealTime,
  parseOutboundUrl,
} from "@messaging-service/core/ports"
import type { EgressAnswer } from "@messaging-service/core/ports"
import { Effect, Layer, Result, Stream } from "effect"
import type { Scope } from "effect"

const redirectStatuses = [301, 302, 303, 307, 308]

const requestHeaders = { accept: "*/*", "user-agent": "Service-Media/2" }

const connectionError = (cause: unknown): EgressError =>
  new EgressError({ reason: "connection", cause })

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

/** The body as far as it is allowed to go; what says beforehand that it is longer is not read at all. */
const limitedBody = (
  { body, headers }: Response,
  maximumBytes: number,
): Stream.Stream<Uint8Array, EgressError> => {
  const tooLarge = new EgressError({ reason: "too_large" })
  if (Number(headers.get("content-length")) > maximumBytes) return Stream.fail(tooLarge)
  if (body === null) return Stream.empty
  return Stream.suspend(() => {
    let received = 0
    return Stream.fromAsyncIterable<Uint8Array, EgressError>(body, connectionError).pipe(
      Stream.mapEffect((chunk) => {
        received += chunk.length
        return received > maximumBytes ? Effect.fail(tooLarge) : Effect.succeed(chunk)
      }),
    )
  })
}

/** Reads `OutboundRule` when it is built. */
export const layerFetchEgress: Layer.Layer<Egress> = Layer.effect(
  Egress,
  Effect.gen(function* () {
    const { allowPrivate } = yield* OutboundRule
    const { sleep } = yield* RealTime

    const within = <A, R>(effect: Effect.Effect<A, EgressError, R>, millis: number) =>
      Effect.raceFirst(
        effect,
        Effect.andThen(sleep(millis), Effect.fail(new EgressError({ reason: "timeout" }))),
      )

    const readable = (text: string, allowHttp: boolean) =>
      Result.mapError(
        parseOutboundUrl(text, { allowHttp, allowPrivate }),
        (problem) =>
          new EgressError({
            reason: problem === "not_a_url" ? "connection" : "blocked_address",
            cause: problem,
          }),
      )

    const follow = (
      text: string,
      redirectsLeft: number,
    ): Effect.Effect<
      { readonly url: string; readonly response: Response },
      EgressError,
      Scope.Scope
    > =>
      Effect.gen(function* () {
        const { href } = yield* Effect.fromResult(readable(text, true))
        const response = yield* requested(href, { headers: requestHeaders })
        const location = response.headers.get("location")
        if (!redirectStatuses.includes(response.status) || location === null) {
          return { url: href, response }
        }
        const next = URL.parse(location, href)?.href
        if (next === undefined || redirectsLeft <= 0) {
          return yield* new EgressError({ reason: "redirects", cause: location })
        }
        return yield* follow(next, redirectsLeft - 1)
      })

    return Egress.of({
      allows: (text) => Effect.sync(() => Result.isSuccess(readable(text, true))),
      fetch: Effect.fn("Egress.fetch")(function* (text, limits) {
        const before = performance.now()
        const { response, url } = yield* within(
          follow(text, limits.redirects),
          limits.timeoutMillis,
        )
        const late = Effect.andThen(
          sleep(Math.max(0, limits.timeoutMillis - (performance.now() - before))),
          Effect.fail(new EgressError({ reason: "timeout" })),
        )
        return {
          status: response.status,
          headers: Object.fromEntries(response.headers),
          url,
          body: Stream.interruptWhen(limitedBody(response, limits.maximumBytes), late),
        } satisfies EgressAnswer
      }),
      post: Effect.fn("Egress.post")(function* (text, { allowHttp, body, headers }, limits) {
        const { href } = yield* Effect.fromResult(readable(text, allowHttp))
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
