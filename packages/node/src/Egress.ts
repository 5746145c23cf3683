/**
 * The two ways out: `layerEgress` over our own connections, and `layerFetchEgress` through the host's
 * `fetch`, for hosts that open connections themselves. Both follow redirects hop by hop, apply the
 * outbound rule to every hop, and bound how much of a response they read.
 */
import {
  Egress,
  EgressError,
  fetchedFileName,
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
  loadUndici,
  nameServerResolver,
  openConnection,
  getOrigin,
  plainHeaders,
  postOverPool,
  sharedLookUps,
  withoutBrackets,
} from "./Connections.ts"
import type { ConnectionSettings, PostOverPool, Resolver } from "./Connections.ts"
import { areKnown, getCodings, decoded } from "./contentCodings.ts"

/** Headers of every GET. */
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

/** The effect, with a timeout. */
const within = <A, E, R>(
  sleep: (millis: number) => Effect.Effect<void>,
  millis: number,
  effect: Effect.Effect<A, E, R>,
) => Effect.raceFirst(effect, timeoutAfter(sleep, millis))

/** The URL of a call, unless its text alone violates the rule. */
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

/** The response to one GET, with its body unread. */
interface Hop<Response> {
  readonly response: Response
  readonly status: number
  /** Values of its `Location` headers: exactly one names the target. */
  readonly locations: ReadonlyArray<string>
  /** Ends its connection before the next hop. */
  readonly close: Effect.Effect<void>
}

/** The first response that is not a redirect, and its URL. Every hop must pass the rule. */
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

/** Content that fails with `EgressError`s. */
const failing = async function* failing(body: AsyncIterable<Uint8Array>) {
  try {
    yield* body
  } catch (cause) {
    throw connectionError(cause)
  }
}

/** The name or the type of a file that is gzip itself. */
const isGzipFile = (answer: Pick<EgressAnswer, "headers" | "url">, link: string): boolean =>
  /\.t?gz$/i.test(fetchedFileName(answer, link)) ||
  /^application\/(x-)?gzip\b/i.test(answer.headers["content-type"] ?? "")

/**
 * Reads the body without its codings up to the limit. Refuses at once a coding that is not known, and a plain body
 * with a `Content-Length` above the limit.
 */
const limitedBody = (
  answer: Pick<EgressAnswer, "headers" | "url">,
  link: string,
  body: AsyncIterable<Uint8Array> | null,
  maximumBytes: number,
  /** Whether the body has arrived without the codings that are known. */
  isDecoded: boolean,
): Stream.Stream<Uint8Array, EgressError> =>
  Stream.suspend(() => {
    const tooLarge = new EgressError({ reason: "too_large" })
    const codings = getCodings(answer.headers["content-encoding"])
    if (!areKnown(codings))
      return Stream.fail(new EgressError({ reason: "coding", cause: codings }))
    const isPlain = codings.length === 0
    if (isPlain && Number(answer.headers["content-length"]) > maximumBytes) {
      return Stream.fail(tooLarge)
    }
    if (body === null) return Stream.empty
    const content =
      isPlain || isDecoded ? body : decoded(failing(body), codings, isGzipFile(answer, link))
    let received = 0
    return Stream.fromAsyncIterable(content, connectionError).pipe(
      Stream.mapEffect((chunk) => {
        received += chunk.length
        return received > maximumBytes ? Effect.fail(tooLarge) : Effect.succeed(chunk)
      }),
    )
  })

export interface EgressOptions {
  /** Resolves names. Default: the hosts file and the system's name servers. */
  readonly resolve?: Resolver
  /** Opens TCP connections; tests replace it. Default: directly. */
  readonly dial?: ConnectionSettings["dial"]
  /** Certificate authorities to trust in addition to the system's, as PEM. */
  readonly certificateAuthorities?: ReadonlyArray<string>
  /** Timeout of resolving, connecting and the TLS handshake of one hop. Default: 5,000. */
  readonly connectTimeoutMillis?: number
  /** Longest time that an idle connection waits for the next post. Default: 4,000. */
  readonly idleMillis?: number
}

/** State that an `Egress`'s calls share. */
interface Outbound {
  readonly settings: ConnectionSettings
  readonly sleep: (millis: number) => Effect.Effect<void>
  readonly connectTimeoutMillis: number
}

/**
 * `Egress` on undici, over guarded connections. Every hop of a redirect is its own call: the URL, the
 * host and the address pass the same checks as the first. A fetch opens its own connections and keeps
 * none, so nothing outlives its scope. Posts are many and go to the same places, so they share
 * keep-alive connections. It ignores proxies from the environment, because behind one it cannot check
 * an address. Reads `OutboundRule` when it is built.
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
        post: postOver(outbound, yield* postOverPool(options.idleMillis)),
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
    const answer = { headers: plainHeaders(response.headers), url: url.href }
    return {
      ...answer,
      status: response.statusCode,
      body: Stream.interruptWhen(
        limitedBody(answer, text, response.body, limits.maximumBytes, false),
        Deferred.await(deadline),
      ),
    } satisfies EgressAnswer
  })

const postOver = ({ settings, sleep }: Outbound, post: PostOverPool): Egress["Service"]["post"] => {
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

/** Target of a post. Its text never changes; each connection resolves its host again. */
const postTarget = (text: string, rule: OutboundRule, allowHttp: boolean) =>
  Result.map(readable(text, rule, allowHttp), (url) => ({
    url,
    origin: getOrigin(url),
    path: `${url.pathname}${url.search}`,
  }))

type Connect = (url: OutboundUrl) => ReturnType<typeof openConnection>

/** One request over its own connection. */
const getOver =
  (connect: Connect) =>
  (url: OutboundUrl): Effect.Effect<Hop<Dispatcher.ResponseData>, EgressError, Scope.Scope> =>
    Effect.gen(function* () {
      const undici = yield* loadUndici
      const socket = yield* connect(url)
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => clientOver(undici, getOrigin(url), socket)),
        (opened) => Effect.promise(() => opened.destroy()),
      )
      const response = yield* Effect.tryPromise({
        try: () =>
          client.request({
            method: "GET",
            path: `${url.pathname}${url.search}`,
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

/** One request. The scope discards the unread rest of its response. */
const requested = (
  url: string,
  init: Omit<RequestInit, "redirect" | "signal">,
): Effect.Effect<Response, EgressError, Scope.Scope> =>
  Effect.gen(function* () {
    const input = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort()),
    )
    return yield* Effect.tryPromise({
      try: () => fetch(url, { ...init, redirect: "manual", signal: input.signal }),
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
      // The host owns the connections.
      close: Effect.void,
    }
  })

/** How long an answer's content is waited for where it changes nothing about the call. */
const beginningMillis = 1000

/** The beginning of the content, as far as it arrives before `enough`. */
const getBeginning = (
  { body }: Response,
  maxBytes: number,
  enough: Effect.Effect<void>,
): Effect.Effect<Uint8Array> => {
  const stored = new Uint8Array(maxBytes)
  let length = 0
  const read = async () => {
    if (body === null) return
    const reader = body.getReader()
    while (length < maxBytes) {
      const { done, value } = await reader.read()
      if (done) return
      const part = value.subarray(0, maxBytes - length)
      stored.set(part, length)
      length += part.length
    }
  }
  const reading = Effect.ignore(Effect.tryPromise(read))
  return Effect.map(Effect.raceFirst(reading, enough), () => stored.subarray(0, length))
}

/**
 * `Egress` through the `fetch` of a host that opens connections itself, such as an edge host. It
 * checks an address as written, at every hop of a redirect. The host resolves names, and decides which
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
        const answer = { headers: Object.fromEntries(headers), url: url.href }
        return {
          ...answer,
          status,
          body: Stream.interruptWhen(
            limitedBody(answer, text, body, limits.maximumBytes, true),
            timeoutAfter(sleep, millisLeft),
          ),
        } satisfies EgressAnswer
      }),
      post: Effect.fn("Egress.post")(function* post(text, { allowHttp, body, headers }, limits) {
        const { href } = yield* Effect.fromResult(readable(text, rule, allowHttp))
        const answered = Effect.gen(function* () {
          const response = yield* requested(href, { method: "POST", headers, body })
          const { storedBytes } = limits
          return {
            status: response.status,
            headers: Object.fromEntries(response.headers),
            ...(storedBytes === undefined
              ? {}
              : { beginning: yield* getBeginning(response, storedBytes, sleep(beginningMillis)) }),
          }
        })
        return yield* within(sleep, limits.timeoutMillis, Effect.scoped(answered))
      }),
    })
  }),
)
