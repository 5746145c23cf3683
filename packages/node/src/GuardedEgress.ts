/**
 * `Egress` on undici, over guarded connections. Every hop of a redirect is a call of its own: its URL
 * is read, its host resolved and its address checked as the first. A fetch opens its own connections
 * and none is kept for another, so nothing outlives the scope that asked for it; posts, which are many
 * and go to the same places, share connections that are kept. Proxies that the environment names are
 * never used, because behind one no address can be checked.
 */
import { Egress, EgressError, OutboundRule, RealTime, remembered } from "@messaging-service/core"
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
  connectionError,
  follow,
  limitedBody,
  readable,
  requestHeaders,
  timeoutAfter,
} from "./Fetching.ts"
import type { Hop } from "./Fetching.ts"
import {
  callableAddresses,
  dialTcp,
  openConnection,
  originOf,
  sharedLookUps,
  withoutBrackets,
} from "./GuardedConnection.ts"
import type { ConnectionSettings, Resolver } from "./GuardedConnection.ts"
import { clientOver, plainHeaders, postOverKept } from "./KeptConnections.ts"
import { nameServerResolver } from "./NameServers.ts"

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

/** Reads `OutboundRule` when it is built. */
export const layerEgress = (options: EgressOptions = {}): Layer.Layer<Egress> =>
  Layer.effect(
    Egress,
    Effect.gen(function* () {
      const rule = yield* OutboundRule
      const realTime = yield* RealTime
      const settings: ConnectionSettings = {
        rule,
        lookUp: yield* sharedLookUps(options.resolve ?? nameServerResolver()),
        dial: options.dial ?? dialTcp,
        certificateAuthorities: options.certificateAuthorities ?? [],
      }
      const within = <A, E, R>(
        effect: Effect.Effect<A, E, R>,
        millis = options.connectTimeoutMillis ?? defaultConnectTimeoutMillis,
      ) => Effect.raceFirst(effect, timeoutAfter(realTime.sleep, millis))
      const connectFor = (workspaceId: WorkspaceId) => (url: OutboundUrl) =>
        within(openConnection(settings, url, workspaceId))
      const post = yield* postOverKept(options.idleMillis)
      const targets = remembered((text) => postTarget(text, rule, true))
      const secureTargets = remembered((text) => postTarget(text, rule, false))

      return Egress.of({
        allows: Effect.fn("Egress.allows")(function* (text: string, workspaceId: WorkspaceId) {
          const url = readable(text, rule)
          if (Result.isFailure(url)) return false
          const host = withoutBrackets(url.success.hostname)
          return yield* within(callableAddresses(settings.lookUp, rule, host, workspaceId)).pipe(
            Effect.match({
              onSuccess: () => true,
              onFailure: ({ reason }) => reason !== "blocked_address",
            }),
          )
        }),
        fetch: Effect.fn("Egress.fetch")(function* (
          text: string,
          limits: FetchLimits,
          workspaceId: WorkspaceId,
        ) {
          const deadline = yield* Deferred.make<never, EgressError>()
          yield* realTime
            .sleep(limits.timeoutMillis)
            .pipe(
              Effect.andThen(Deferred.fail(deadline, new EgressError({ reason: "timeout" }))),
              Effect.forkScoped,
            )
          const { url, response } = yield* Effect.raceFirst(
            follow(getOver(connectFor(workspaceId)), rule, text, limits.redirects),
            Deferred.await(deadline),
          )
          return {
            status: response.statusCode,
            headers: plainHeaders(response.headers),
            url: url.href,
            body: Stream.interruptWhen(
              limitedBody(
                response.body,
                Number(response.headers["content-length"]),
                limits.maximumBytes,
              ),
              Deferred.await(deadline),
            ),
          } satisfies EgressAnswer
        }),
        post: (text: string, request: PostRequest, limits: PostLimits) => {
          const target = (request.allowHttp ? targets : secureTargets)(text)
          if (Result.isFailure(target)) return Effect.fail(target.failure)
          const connecting = Effect.suspend(() =>
            within(
              openConnection(settings, target.success.url, request.workspaceId),
              limits.connectTimeoutMillis,
            ),
          )
          return post(target.success, request, limits, connecting)
        },
      })
    }),
  )

const defaultConnectTimeoutMillis = 5000

/** Where a post goes. What its text says does not change; what its host resolves to is asked anew. */
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
