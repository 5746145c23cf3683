/**
 * The two ways out: `layerEgress` over connections of our own, and `layerFetchEgress` by the host's
 * `fetch`, for hosts that open connections themselves. Both follow redirects hop by hop, hold every hop
 * to the rule of what may be called, and bound how much of an answer they read.
 */
import {
  Egress,
  EgressError,
  OutboundRule,
  parseOutboundUrl,
  RealTime,
  memoize,
} from "@messaging-service/core"
import type {
  EgressAnswer,
  FetchLimits,
  OutboundUrl,
  PostLimits,
  PostRequest,
  WorkspaceId,
} from "@messaging-service/core"
import { Deferred, Effect, Layer, Result, Stream } from "effect"
import type { Scope } from "effect"
import type { Dispatcher } from "undici"
import {
  allowedAddresses,
  clientOver,
  dialTcp,
  nameServerResolver,
  openConnection,
  originOf,
  plainHeaders,
  postOverKept,
  sharedLookUps,
  withoutBrackets,
} from "./Connections.ts"
import type { ConnectionSettings, PostOverKept, Resolver } from "./Connections.ts"

/** With every GET. */
const requestHeaders = { accept: "*/*", "user-agent": "Service-Media/2" }

const redirectStatuses = [301, 302, 303, 307, 308]

const connectionError = (cause: unknown): EgressError =>
  cause instanceof EgressError ? cause : new EgressError({ reason: "connection", cause })

/** Fails with `timeout` after so many milliseconds of that sleep. */
const timeoutAfter = (
  sleep: (millis: number) => Effect.Effect<void>,
  millis: number,
): Effect.Effect<never, EgressError> =>
  Effect.andThen(sleep(millis), Effect.fail(new EgressError({ reason: "timeout" })))

/** The effect, unless it takes longer. */
const within = <A, E, R>(
  sleep: (millis: number) => Effect.Effect<void>,
  millis: number,
  effect: Effect.Effect<A, E, R>,
) => Effect.raceFirst(effect, timeoutAfter(sleep, millis))

/** The URL of a call, unless the rule forbids it by its text alone. */
const readable = (
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
interface Hop<Response> {
  readonly response: Response
  readonly status: number
  /** What its `Location` headers say: exactly one names where the answer is. */
  readonly locations: ReadonlyArray<string>
  /** Ends its connection before the next hop. */
  readonly close: Effect.Effect<void>
}

/** The first answer that is no redirect, and where it came from. Every hop is held to the rule. */
const follow = <Response>(
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
const limitedBody = (
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

export interface EgressOptions {
  /** How names are resolved; by the hosts file and the system's name servers by default. */
  readonly resolve?: Resolver
  /** How TCP connections are opened; directly by default. For tests. */
  readonly dial?: ConnectionSettings["dial"]
  /** Certificate authorities to trust besides the system's, as PEM. */
  readonly certificateAuthorities?: ReadonlyArray<string>
  /** Resolving, connecting and the TLS handshake of one hop; 5,000 by default. */
  readonly connectTimeoutMillis?: number
  /** How long a connection of posts is kept for the next one at most; 4,000 by default. */
  readonly idleMillis?: number
}

/** What the calls of one `Egress` share. */
interface Outbound {
  readonly settings: ConnectionSettings
  readonly sleep: (millis: number) => Effect.Effect<void>
  readonly connectTimeoutMillis: number
}

/**
 * `Egress` on undici, over guarded connections. Every hop of a redirect is a call of its own: its URL
 * is read, its host resolved and its address checked as the first. A fetch opens its own connections
 * and keeps none, so nothing outlives the scope that asked for it; posts, which are many and go to the
 * same places, share connections that are kept. Proxies that the environment names are never used,
 * because behind one no address can be checked. Reads `OutboundRule` when it is built.
 */
export const layerEgress = (options: EgressOptions = {}): Layer.Layer<Egress> =>
  Layer.effect(
    Egress,
    Effect.gen(function* () {
      const { sleep } = yield* RealTime
      const outbound: Outbound = {
        settings: {
          rule: yield* OutboundRule,
          lookUp: yield* sharedLookUps(options.resolve ?? nameServerResolver()),
          dial: options.dial ?? dialTcp,
          certificateAuthorities: options.certificateAuthorities ?? [],
        },
        sleep,
        connectTimeoutMillis: options.connectTimeoutMillis ?? defaultConnectTimeoutMillis,
      }
      return Egress.of({
        allows: allowsOver(outbound),
        fetch: fetchOver(outbound),
        post: postOver(outbound, yield* postOverKept(options.idleMillis)),
      })
    }),
  )

const allowsOver = ({ connectTimeoutMillis, settings, sleep }: Outbound) =>
  Effect.fn("Egress.allows")(function* (text: string, workspaceId: WorkspaceId) {
    const { lookUp, rule } = settings
    const url = readable(text, rule)
    if (Result.isFailure(url)) return false
    const host = withoutBrackets(url.success.hostname)
    const addresses = allowedAddresses(lookUp, rule, host, workspaceId)
    return yield* within(sleep, connectTimeoutMillis, addresses).pipe(
      Effect.match({
        onSuccess: () => true,
        onFailure: ({ reason }) => reason !== "blocked_address",
      }),
    )
  })

const fetchOver = ({ connectTimeoutMillis, settings, sleep }: Outbound) =>
  Effect.fn("Egress.fetch")(function* (
    text: string,
    limits: FetchLimits,
    workspaceId: WorkspaceId,
  ) {
    const deadline = yield* Deferred.make<never, EgressError>()
    yield* sleep(limits.timeoutMillis).pipe(
      Effect.andThen(Deferred.fail(deadline, new EgressError({ reason: "timeout" }))),
      Effect.forkScoped,
    )
    const get = getOver((url) =>
      within(sleep, connectTimeoutMillis, openConnection(settings, url, workspaceId)),
    )
    const { url, response } = yield* Effect.raceFirst(
      follow(get, settings.rule, text, limits.redirects),
      Deferred.await(deadline),
    )
    const contentLength = Number(response.headers["content-length"])
    return {
      status: response.statusCode,
      headers: plainHeaders(response.headers),
      url: url.href,
      body: Stream.interruptWhen(
        limitedBody(response.body, contentLength, limits.maximumBytes),
        Deferred.await(deadline),
      ),
    } satisfies EgressAnswer
  })

const postOver = ({ settings, sleep }: Outbound, post: PostOverKept): Egress["Service"]["post"] => {
  const targets = memoize((text) => postTarget(text, settings.rule, true))
  const secureTargets = memoize((text) => postTarget(text, settings.rule, false))
  const postTo = (text: string, request: PostRequest, limits: PostLimits) => {
    const target = (request.allowHttp ? targets : secureTargets)(text)
    if (Result.isFailure(target)) return Effect.fail(target.failure)
    const connecting = Effect.suspend(() =>
      within(
        sleep,
        limits.connectTimeoutMillis,
        openConnection(settings, target.success.url, request.workspaceId),
      ),
    )
    return post(target.success, request, limits, connecting)
  }
  return postTo
}

const defaultConnectTimeoutMillis = 5000

/** Where a post goes. Its text never changes; each connection resolves its host again. */
const postTarget = (text: string, rule: OutboundRule, allowHttp: boolean) =>
  Result.map(readable(text, rule, allowHttp), (url) => ({
    url,
    origin: originOf(url),
    path: `${url.pathname}${url.search}`,
  }))

type Connect = (url: OutboundUrl) => ReturnType<typeof openConnection>

/** One request over a connection of its own. */
const getOver =
  (connect: Connect) =>
  (url: OutboundUrl): Effect.Effect<Hop<Dispatcher.ResponseData>, EgressError, Scope.Scope> =>
    Effect.gen(function* () {
      const socket = yield* connect(url)
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => clientOver(originOf(url), socket)),
        (opened) => Effect.promise(() => opened.destroy()),
      )
      const response = yield* Effect.tryPromise({
        try: () =>
          client.request({
            method: "GET",
            path: `${url.pathname}${url.search}`,
            // The bytes are kept as they come: compressed ones would be kept compressed.
            headers: { ...requestHeaders, "accept-encoding": "identity" },
          }),
        catch: connectionError,
      })
      return {
        response,
        status: response.statusCode,
        // Header bytes arrive as Latin-1; servers that do not escape them mean UTF-8.
        locations: [response.headers["location"] ?? []]
          .flat()
          .map((location) => Buffer.from(location, "latin1").toString("utf8")),
        close: Effect.promise(() => client.destroy()),
      }
    })

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

/**
 * `Egress` by the `fetch` of a host that opens the connections itself, such as an edge host. An address
 * is checked as it is written, at every hop of a redirect; the host resolves names, and says which
 * addresses they may lead to. Reads `OutboundRule` when it is built.
 */
export const layerFetchEgress: Layer.Layer<Egress> = Layer.effect(
  Egress,
  Effect.gen(function* () {
    const rule = yield* OutboundRule
    const { sleep } = yield* RealTime

    return Egress.of({
      allows: (text) => Effect.sync(() => Result.isSuccess(readable(text, rule))),
      fetch: Effect.fn("Egress.fetch")(function* fetch(text, limits) {
        const before = performance.now()
        const { response, url } = yield* within(
          sleep,
          limits.timeoutMillis,
          follow(get, rule, text, limits.redirects),
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
      post: Effect.fn("Egress.post")(function* post(text, { allowHttp, body, headers }, limits) {
        const { href } = yield* Effect.fromResult(readable(text, rule, allowHttp))
        const answered = Effect.map(
          requested(href, { method: "POST", headers, body }),
          (response) => ({
            status: response.status,
            headers: Object.fromEntries(response.headers),
          }),
        )
        return yield* within(sleep, limits.timeoutMillis, Effect.scoped(answered))
      }),
    })
  }),
)
