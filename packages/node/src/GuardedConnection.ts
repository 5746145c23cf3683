/**
 * Connections to addresses that were checked: the rule of what may be reached is asked of what a name
 * resolves to, not of the name. It is resolved once, every answer is checked, and
 * the socket goes to one of those very addresses: a name that resolves to something else a moment
 * later changes nothing. What the socket is really connected to is looked at once more before the
 * first byte, of TLS too, leaves.
 *
 * Look-ups of one name that are under way at the same time are one look-up, and a workspace has a
 * bounded number of them: names whose servers are silent delay their own workspace alone.
 */
import { EgressError, isPublicAddress, makePlaces, sharedResources } from "@messaging-service/core"
import type { OutboundRule, OutboundUrl, WorkspaceId } from "@messaging-service/core"
import { Effect, RcMap } from "effect"
import type { Scope } from "effect"
import { connect, isIP } from "node:net"
import type { LookupFunction, Socket, TcpNetConnectOpts } from "node:net"
import * as tls from "node:tls"

/** All addresses of a host name. Fails with `dns` when there is none. */
export type Resolver = (hostname: string) => Effect.Effect<ReadonlyArray<string>, EgressError>

/** A look-up for a workspace, of whose share it takes. */
export type LookUp = (hostname: string, workspaceId: WorkspaceId) => ReturnType<Resolver>

/**
 * Look-ups that share a resolver. One that is under way ends when the last that wait for its answer
 * have gone, and with the scope.
 */
export const sharedLookUps = (resolve: Resolver): Effect.Effect<LookUp, never, Scope.Scope> =>
  Effect.map(RcMap.make({ lookup: resolve }), (underWay) => {
    const places = makePlaces<WorkspaceId>(sharedResources.nameLookUps)
    return (hostname, workspaceId) =>
      Effect.scoped(Effect.andThen(places.take(workspaceId), RcMap.get(underWay, hostname)))
  })

/** `hostname` as it stands in a parsed URL. */
export const withoutBrackets = (hostname: string): string =>
  hostname.startsWith("[") ? hostname.slice(1, -1) : hostname

/** Whether the rule lets this address be called. */
const mayCall = (rule: OutboundRule, address: string): boolean =>
  rule.allowPrivate || isPublicAddress(address)

/**
 * The addresses of a host, resolved once and all of them allowed; a literal is its own address. Fails
 * with `dns`, or with `blocked_address` when a single one may not be called: a name that leads to both
 * sides of the wall is no honest one.
 */
export const callableAddresses = (
  lookUp: LookUp,
  rule: OutboundRule,
  host: string,
  workspaceId: WorkspaceId,
): Effect.Effect<ReadonlyArray<string>, EgressError> =>
  Effect.gen(function* () {
    const addresses = isIP(host) === 0 ? yield* lookUp(host, workspaceId) : [host]
    if (addresses.length === 0) {
      return yield* new EgressError({ reason: "dns", cause: `no address for ${host}` })
    }
    const blocked = addresses.find((address) => isIP(address) === 0 || !mayCall(rule, address))
    return blocked === undefined
      ? addresses
      : yield* new EgressError({ reason: "blocked_address", cause: blocked })
  })

export interface ConnectionSettings {
  readonly rule: OutboundRule
  readonly lookUp: LookUp
  /** Opens a TCP connection; `node:net`'s `connect` but for tests. */
  readonly dial: (options: TcpNetConnectOpts) => Socket
  /** Certificate authorities to trust besides the system's, as PEM. */
  readonly certificateAuthorities: ReadonlyArray<string>
}

export const dialTcp: ConnectionSettings["dial"] = (options) => connect(options)

/** Scheme, host and, unless it is the scheme's own, port. */
export const originOf = ({ protocol, hostname, port }: OutboundUrl): string =>
  `${protocol}//${hostname}${port === "" ? "" : `:${port}`}`

/**
 * A connection to the link's host for that workspace, with TLS verified for `https`; it is destroyed with the scope.
 * Fails with `dns`, `blocked_address`, `connection` or `tls`. How long it may take is for the caller
 * to say.
 */
export const openConnection = (
  settings: ConnectionSettings,
  url: OutboundUrl,
  workspaceId: WorkspaceId,
): Effect.Effect<Socket, EgressError, Scope.Scope> =>
  Effect.gen(function* () {
    const host = withoutBrackets(url.hostname)
    const { lookUp, rule } = settings
    const addresses = yield* callableAddresses(lookUp, rule, host, workspaceId)
    const tcp = yield* openTcp(settings, url, host, addresses)
    return url.protocol === "https:" ? yield* startTls(settings, host, tcp) : tcp
  })

/** A socket that reports to be ready, and goes when the scope does, whatever happens before. */
const scopedSocket = <A extends Socket>(
  make: () => A,
  ready: string,
  reasonOf: (error: unknown) => EgressError["reason"],
): Effect.Effect<A, EgressError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = make()
      const becomesReady = new Promise<void>((resolve, reject) => {
        socket.once(ready, resolve)
        // Stays for the socket's whole life: an error without a listener would end the process.
        socket.on("error", reject)
        socket.once("close", () => reject(new Error("closed before it was ready")))
      })
      becomesReady.catch(() => undefined)
      return { socket, becomesReady }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy()),
  ).pipe(
    Effect.flatMap(({ socket, becomesReady }) =>
      Effect.tryPromise({
        try: () => becomesReady.then(() => socket),
        catch: (cause) => new EgressError({ reason: reasonOf(cause), cause }),
      }),
    ),
  )

const openTcp = (
  settings: ConnectionSettings,
  url: OutboundUrl,
  host: string,
  addresses: ReadonlyArray<string>,
) =>
  scopedSocket(
    () =>
      settings.dial({
        host,
        port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
        lookup: pinned(addresses),
        // Tries the addresses in turn, a quarter of a second for each, so that a dead one costs little.
        autoSelectFamily: true,
        noDelay: true,
      }),
    "connect",
    () => "connection",
  ).pipe(
    Effect.tap((socket) => {
      const address = socket.remoteAddress
      // Without one it is closed again already.
      if (address === undefined) return new EgressError({ reason: "connection" })
      return mayCall(settings.rule, address)
        ? Effect.void
        : new EgressError({ reason: "blocked_address", cause: address })
    }),
  )

/**
 * Answers Node's question for a name with the addresses that were checked, without asking a
 * resolver.
 */
const pinned =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_hostname, options, answer) => {
    const answers = addresses.map((address) => ({ address, family: isIP(address) }))
    if (options.all === true) answer(null, answers)
    else answer(null, answers[0]?.address ?? "", answers[0]?.family)
  }

const startTls = (settings: ConnectionSettings, host: string, tcp: Socket) =>
  scopedSocket(
    () => {
      // A literal address has no server name, and a name's closing dot is not part of it.
      const serverName = isIP(host) === 0 ? host.replace(/\.$/, "") : ""
      return tls.connect({
        socket: tcp,
        host: serverName === "" ? host : serverName,
        servername: serverName,
        ALPNProtocols: ["http/1.1"],
        // Said aloud, because an environment variable can turn the default off.
        rejectUnauthorized: true,
        ...(settings.certificateAuthorities.length === 0
          ? {}
          : { ca: [...tls.getCACertificates("default"), ...settings.certificateAuthorities] }),
      })
    },
    "secureConnect",
    (error) => (isBrokenConnection(error) ? "connection" : "tls"),
  )

const brokenConnection = ["ECONNRESET", "EPIPE", "ECONNABORTED", "ETIMEDOUT"]

const isBrokenConnection = (error: unknown): boolean =>
  error instanceof Error && "code" in error && brokenConnection.includes(String(error.code))
