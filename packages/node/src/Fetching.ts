/**
 * What both ways out do alike: which links may be called at all, how redirects are followed, and how much
 * of an answer is read.
 */
import { EgressError, parseOutboundUrl } from "@messaging-service/core"
import type { OutboundRule, OutboundUrl } from "@messaging-service/core"
import { Effect, Result, Stream } from "effect"
import type { Scope } from "effect"

/** With every GET. */
export const requestHeaders = { accept: "*/*", "user-agent": "Service-Media/2" }

const redirectStatuses = [301, 302, 303, 307, 308]

export const connectionError = (cause: unknown): EgressError =>
  cause instanceof EgressError ? cause : new EgressError({ reason: "connection", cause })

/** Fails with `timeout` after so many milliseconds of that sleep. */
export const timeoutAfter = (
  sleep: (millis: number) => Effect.Effect<void>,
  millis: number,
): Effect.Effect<never, EgressError> =>
  Effect.andThen(sleep(millis), Effect.fail(new EgressError({ reason: "timeout" })))

/** The URL of a call, unless the rule forbids it by its text alone. */
export const readable = (
  text: string,
  { allowPrivate }: OutboundRule,
  allowHttp = true,
): Result.Result<OutboundUrl, EgressError> =>
  Result.mapError(
    parseOutboundUrl(text, { allowHttp, allowPrivate }),
    (problem) =>
      new EgressError({
        reason: problem === "not_a_url" ? "connection" : "blocked_address",
        cause: problem,
      }),
  )

/** The answer to one GET, whose body is still to be read. */
export interface Hop<Response> {
  readonly response: Response
  readonly status: number
  /** What its `Location` headers say: exactly one names where the answer is. */
  readonly locations: ReadonlyArray<string>
  /** Ends its connection before the next hop. */
  readonly close: Effect.Effect<void>
}

/** The first answer that is no redirect, and where it came from. Every hop is held to the rule. */
export const follow = <Response>(
  get: (url: OutboundUrl) => Effect.Effect<Hop<Response>, EgressError, Scope.Scope>,
  rule: OutboundRule,
  text: string,
  redirectsLeft: number,
): Effect.Effect<
  { readonly url: OutboundUrl; readonly response: Response },
  EgressError,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const url = yield* Effect.fromResult(readable(text, rule))
    const { close, locations, response, status } = yield* get(url)
    const [location, another] = locations
    if (!redirectStatuses.includes(status) || location === undefined) return { url, response }
    yield* close
    const next = another === undefined ? URL.parse(location, url.href)?.href : undefined
    if (next === undefined || redirectsLeft <= 0) {
      return yield* new EgressError({ reason: "redirects", cause: locations })
    }
    return yield* follow(get, rule, next, redirectsLeft - 1)
  })

/**
 * The body as far as it is allowed to go; one whose `Content-Length` says that it is longer is not read
 * at all.
 */
export const limitedBody = (
  body: AsyncIterable<Uint8Array> | null,
  contentLength: number,
  maximumBytes: number,
): Stream.Stream<Uint8Array, EgressError> =>
  Stream.suspend(() => {
    const tooLarge = new EgressError({ reason: "too_large" })
    if (contentLength > maximumBytes) return Stream.fail(tooLarge)
    if (body === null) return Stream.empty
    let received = 0
    return Stream.fromAsyncIterable(body, connectionError).pipe(
      Stream.mapEffect((chunk) => {
        received += chunk.length
        return received > maximumBytes ? Effect.fail(tooLarge) : Effect.succeed(chunk)
      }),
    )
  })
