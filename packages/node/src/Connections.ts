/**
 * Connections that may leave, from the name to the socket: names resolved over sockets of our own,
 * addresses checked, connections opened to those very addresses, and the connections that posts keep
 * between them.
 */
import { Resolver as NodeResolver } from "node:dns/promises"
import { readFileSync, statSync } from "node:fs"
import type { IncomingHttpHeaders } from "node:http"
import { connect, isIP } from "node:net"
import type { LookupFunction, Socket, TcpNetConnectOpts } from "node:net"
import * as tls from "node:tls"
import {
  EgressError,
  isPublicAddress,
  makeBulkhead,
  makeRejectingBulkhead,
  sharedLimits,
} from "@messaging-service/core"
import type {
  OutboundRule,
  OutboundUrl,
  PostAnswer,
  PostLimits,
  PostRequest,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Exit, RcMap, Scope } from "effect"
import { Client } from "undici"
import type { Dispatcher } from "undici"

/** All addresses of a host name. Fails with `dns` when there is none. */
export type Resolver = (hostname: string) => Effect.Effect<ReadonlyArray<string>, EgressError>

/** A look-up for a workspace, of whose share it takes. */
type LookUp = (hostname: string, workspaceId: WorkspaceId) => ReturnType<Resolver>

/**
 * Look-ups that share a resolver. Callers that ask for one name at the same time share one look-up,
 * which ends when the last of them has gone, and with the scope. A workspace has a bounded number of
 * them: names whose servers are silent delay their own workspace alone.
 */
export const sharedLookUps = (resolve: Resolver): Effect.Effect<LookUp, never, Scope.Scope> =>
  Effect.map(RcMap.make({ lookup: resolve }), (underWay) => {
    const places = makeBulkhead<WorkspaceId>(sharedLimits.nameLookUps)
    return (hostname, workspaceId) =>
      Effect.scoped(Effect.andThen(places.acquire(workspaceId), RcMap.get(underWay, hostname)))
  })

/** The `hostname` of a parsed URL without the brackets of an IPv6 literal. */
export const withoutBrackets = (hostname: string): string =>
  hostname.startsWith("[") ? hostname.slice(1, -1) : hostname

/** Whether the rule lets this address be called. */
const isAllowed = (rule: OutboundRule, address: string): boolean =>
  rule.allowPrivate || isPublicAddress(address)

/**
 * The addresses of a host, resolved once and all of them allowed; a literal is its own address. Fails
 * with `dns`, or with `blocked_address` when a single one may not be called: a name that leads to both
 * sides of the wall is no honest one.
 */
export const allowedAddresses = (
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
    const blocked = addresses.find((address) => isIP(address) === 0 || !isAllowed(rule, address))
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
 * Opens a connection to the link's host for that workspace, with TLS verified for `https`; the scope
 * destroys it. The rule of what may be reached applies to the addresses of a name, not to the name: it
 * is resolved once, every address is checked, and the socket goes to one of those very addresses. The
 * address of the open socket is checked once more before the first byte leaves, of TLS too.
 *
 * Fails with `dns`, `blocked_address`, `connection` or `tls`. The caller bounds its time.
 */
export const openConnection = (
  settings: ConnectionSettings,
  url: OutboundUrl,
  workspaceId: WorkspaceId,
): Effect.Effect<Socket, EgressError, Scope.Scope> =>
  Effect.gen(function* () {
    const host = withoutBrackets(url.hostname)
    const { lookUp, rule } = settings
    const addresses = yield* allowedAddresses(lookUp, rule, host, workspaceId)
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
      return isAllowed(settings.rule, address)
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

interface NameServerOptions {
  /** `address` or `address:port` of each name server; the system's by default. */
  readonly servers?: ReadonlyArray<string>
  /** `/etc/hosts` by default. */
  readonly hostsFile?: string
  /** For all of a look-up; 4,000 by default, less than a call has to connect. */
  readonly timeoutMillis?: number
}

/** Until a name server is asked again; it doubles with each try. */
const tryMillis = 1000

const tries = 3

/**
 * What one family of addresses may take longer than the other: some servers answer for version 4 and
 * never for version 6.
 */
const laggardMillis = 500

/**
 * Resolves names over sockets of our own. The system's way (`getaddrinfo`) holds one of a handful of
 * threads while a name's server is silent, so that a few such names stop every other look-up and all
 * file work, and it cannot be cancelled (docs/decisions/dns-lookups.md). Here each look-up has its own
 * sockets and goes with its caller.
 *
 * As the system does, it reads the hosts file first, and again when that changes; it asks the name
 * servers of `/etc/resolv.conf`, and takes addresses of both families, version 4 first. `localhost` and
 * what ends in `.localhost` are this machine (RFC 6761).
 *
 * It has no search domains and `ndots` (a link names its host in full), no other sources of
 * `nsswitch.conf`, and no `.local` names over multicast.
 */
export const nameServerResolver = ({
  hostsFile = "/etc/hosts",
  servers,
  timeoutMillis = 4000,
}: NameServerOptions = {}): Resolver => {
  const hosts = hostsOf(hostsFile)
  return (hostname) =>
    Effect.gen(function* () {
      const name = hostname.toLowerCase().replace(/\.$/, "")
      const listed = (yield* hosts).get(name)
      if (listed !== undefined) return listed
      if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"]
      return yield* ask(name, servers, timeoutMillis)
    })
}

/** One look-up with sockets of its own, which interruption closes. */
const ask = (
  name: string,
  servers: ReadonlyArray<string> | undefined,
  timeoutMillis: number,
): Effect.Effect<ReadonlyArray<string>, EgressError> =>
  Effect.tryPromise({
    try: async (interrupted) => {
      const resolver = new NodeResolver({ timeout: tryMillis, tries })
      if (servers !== undefined) resolver.setServers(servers)
      const cancel = () => resolver.cancel()
      interrupted.addEventListener("abort", cancel)
      const timers = [setTimeout(cancel, timeoutMillis)]
      const family = async (addresses: Promise<ReadonlyArray<string>>) => {
        const found = await addresses
        if (found.length > 0) timers.push(setTimeout(cancel, laggardMillis))
        return found
      }
      const answers = await Promise.allSettled([
        family(resolver.resolve4(name)),
        family(resolver.resolve6(name)),
      ])
      for (const timer of timers) clearTimeout(timer)
      const addresses = answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []))
      if (addresses.length > 0) return addresses
      throw new Error(`no address for ${name}`, {
        cause: answers.find((each) => each.status === "rejected")?.reason,
      })
    },
    catch: (cause) => new EgressError({ reason: "dns", cause }),
  })

type Hosts = ReadonlyMap<string, ReadonlyArray<string>>

/** The names of a hosts file, read when they are asked for and it is another file than before. */
const hostsOf = (path: string): Effect.Effect<Hosts, EgressError> => {
  let known: Hosts = new Map()
  let version = ""
  const read = () => {
    // At once: file work that is waited for is done by the very threads that this file is to spare.
    const stat = statSync(path, { throwIfNoEntry: false })
    const present = stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size}`
    if (present !== version) {
      known = stat === undefined ? new Map() : readHosts(readFileSync(path, "utf8"))
      version = present
    }
    return known
  }
  return Effect.try({
    try: read,
    catch: (cause) => new EgressError({ reason: "dns", cause }),
  })
}

const readHosts = (text: string): Hosts => {
  const hosts = new Map<string, Array<string>>()
  for (const line of text.split("\n")) {
    const [address, ...names] = line.replace(/#.*/, "").trim().split(/\s+/)
    if (address === undefined || isIP(address) === 0) continue
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, "")
      hosts.set(key, [...(hosts.get(key) ?? []), address])
    }
  }
  return hosts
}

/**
 * An idle connection is closed after this time, or when the other side announced to close it. Short:
 * a call that starts when the other side is just closing is lost.
 */
const defaultIdleMillis = 4000

interface Connection {
  readonly client: Client
  /** Whose call it did last: idle, it takes of that workspace's share. */
  lastFor: WorkspaceId
  readonly socket: Socket
  /** Closes the socket. */
  readonly scope: Scope.Closeable
}

/** Where a post goes: its connections are kept by origin. */
interface PostTarget {
  readonly origin: string
  /** With the query. */
  readonly path: string
}

interface Post {
  readonly target: PostTarget
  readonly request: PostRequest
  readonly limits: PostLimits
  /** When the whole call has had its time, by `performance.now`. */
  readonly deadline: number
}

/** Makes the post; `connecting` opens a connection to the origin where none is kept. */
export type PostOverKept = (
  target: PostTarget,
  request: PostRequest,
  limits: PostLimits,
  connecting: Effect.Effect<Socket, EgressError, Scope.Scope>,
) => Effect.Effect<PostAnswer, EgressError>

/**
 * Posts over connections that are kept between them. A connection is opened and checked as for any
 * other call, and does one call at a time; between two it waits in an idle list of its origin, from
 * which the receiver may drop it at any moment. Our bounds say how many wait and how long: an answer's
 * `Keep-Alive` can shorten the time, not prolong it. All close with the scope.
 *
 * Undici's own `Agent` would open connections beyond these bounds: docs/decisions/kept-connections.md.
 */
export const postOverKept = (
  idleMillis: number = defaultIdleMillis,
): Effect.Effect<PostOverKept, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new IdleConnections(idleMillis)),
      (idle) => Effect.forEach(idle.all(), close, { concurrency: "unbounded", discard: true }),
    ),
    postOver,
  )

const postOver = (idle: IdleConnections): PostOverKept => {
  const postKept: PostOverKept = (target, request, limits, connecting) =>
    Effect.callback((resume) => {
      const deadline = performance.now() + limits.timeoutMillis
      const post: Post = { target, request, limits, deadline }
      const onFresh = Effect.suspend(() =>
        Effect.flatMap(open(idle, target.origin, request.workspaceId, connecting), (connection) =>
          Effect.callback<PostAnswer, EgressError>((answer) =>
            new CallOnKeptConnection(idle, connection, post, lost, answer).start(),
          ),
        ),
      )
      const waiting = idle.take(target.origin)
      if (waiting === undefined) return resume(onFresh)
      return new CallOnKeptConnection(idle, waiting, post, onFresh, resume).start()
    })
  return postKept
}

class IdleConnections {
  readonly idleMillis: number
  readonly #byOrigin = new Map<string, Array<Connection>>()
  readonly #places = makeRejectingBulkhead<WorkspaceId>(sharedLimits.keptConnections)

  constructor(idleMillis: number) {
    this.idleMillis = idleMillis
  }

  /** The one that was used last. */
  take(origin: string): Connection | undefined {
    const connections = this.#byOrigin.get(origin)
    const latest = connections?.pop()
    if (latest !== undefined) this.#giveBack(latest)
    if (connections?.length === 0) this.#byOrigin.delete(origin)
    return latest
  }

  /** False when there is no room for it, or it is closed already. */
  keep(origin: string, connection: Connection): boolean {
    if (connection.socket.destroyed || !this.#places.tryAcquire()) return false
    if (!this.#places.tryAcquireShare(connection.lastFor)) {
      this.#places.release()
      return false
    }
    const connections = this.#byOrigin.get(origin) ?? []
    this.#byOrigin.set(origin, connections)
    connections.push(connection)
    return true
  }

  forget(origin: string, connection: Connection): void {
    const connections = this.#byOrigin.get(origin)
    const at = connections?.indexOf(connection) ?? -1
    if (connections === undefined || at === -1) return
    connections.splice(at, 1)
    this.#giveBack(connection)
    if (connections.length === 0) this.#byOrigin.delete(origin)
  }

  #giveBack({ lastFor }: Connection): void {
    this.#places.release()
    this.#places.releaseShare(lastFor)
  }

  all(): ReadonlyArray<Connection> {
    return [...this.#byOrigin.values()].flat()
  }
}

const open = (
  idle: IdleConnections,
  origin: string,
  workspaceId: WorkspaceId,
  connecting: Effect.Effect<Socket, EgressError, Scope.Scope>,
): Effect.Effect<Connection, EgressError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const socket = yield* restore(Scope.provide(connecting, scope)).pipe(
        Effect.onError(() => Scope.close(scope, Exit.void)),
      )
      const client = clientOver(origin, socket, idle.idleMillis)
      const connection: Connection = { client, socket, scope, lastFor: workspaceId }
      socket.once("close", () => idle.forget(origin, connection))
      return connection
    }),
  )

const close = ({ client, scope }: Connection): Effect.Effect<void> =>
  Effect.andThen(
    Effect.promise(() => client.destroy()),
    Scope.close(scope, Exit.void),
  )

/** A client over that one socket. When it is gone the client is of no more use. */
export const clientOver = (
  origin: string,
  socket: Socket,
  idleMillis: number = defaultIdleMillis,
): Client => {
  let handedOut = false
  return new Client(origin, {
    // The deadline of the whole call governs.
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    keepAliveTimeout: idleMillis,
    keepAliveMaxTimeout: idleMillis,
    connect: (_target, answer) => {
      const first = !handedOut
      handedOut = true
      // Later, because undici expects no answer before this returns.
      queueMicrotask(() => {
        if (first) answer(null, socket)
        // A second connection would be an unchecked one.
        else answer(gone, null)
      })
    },
  })
}

type Answering = (answer: Effect.Effect<PostAnswer, EgressError>) => void

/**
 * One call on a connection, which is kept afterwards if it can be. It is one object, because there are
 * thousands in a second. The status is what was asked for:
 * an answer whose content breaks off, is too long or does not end in time is an answer. What happens
 * `ifGone` is for the caller to say: the connection was lost before the call, and nothing was sent.
 */
class CallOnKeptConnection implements Dispatcher.DispatchHandler {
  readonly #idle: IdleConnections
  readonly #connection: Connection
  readonly #post: Post
  readonly #ifGone: Effect.Effect<PostAnswer, EgressError>
  readonly #resume: Answering
  #timer: NodeJS.Timeout | undefined
  #answer: PostAnswer | undefined
  #received = 0

  constructor(
    idle: IdleConnections,
    connection: Connection,
    post: Post,
    ifGone: Effect.Effect<PostAnswer, EgressError>,
    resume: Answering,
  ) {
    this.#idle = idle
    this.#connection = connection
    this.#post = post
    this.#ifGone = ifGone
    this.#resume = resume
  }

  /** What stops it. */
  start(): Effect.Effect<void> {
    const { deadline, request, target } = this.#post
    this.#timer = setTimeout(() => this.#timeOut(), deadline - performance.now())
    this.#connection.lastFor = request.workspaceId
    this.#connection.client.dispatch(
      {
        method: "POST",
        path: target.path,
        headers: request.headers,
        body: request.body,
        idempotent: false,
      },
      this,
    )
    return Effect.sync(() => {
      clearTimeout(this.#timer)
      this.#giveUp()
    })
  }

  onRequestStart(): void {
    // Nothing is known yet.
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // "103 Early Hints" and its like are not the answer.
    if (status < 200) return
    this.#answer = { status, headers: plainHeaders(headers) }
    if (Number(headers["content-length"] ?? 0) > this.#post.limits.maximumBytes) this.#giveUp()
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#received += chunk.length
    if (this.#received > this.#post.limits.maximumBytes) this.#giveUp()
  }

  onResponseEnd(): void {
    if (!this.#idle.keep(this.#post.target.origin, this.#connection)) this.#giveUp()
    this.#end(brokenOff)
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.#giveUp()
    if (cause === gone) this.#answerWith(this.#ifGone)
    else this.#end(new EgressError({ reason: "connection", cause }))
  }

  #timeOut(): void {
    this.#giveUp()
    this.#end(new EgressError({ reason: "timeout" }))
  }

  #giveUp(): void {
    void this.#connection.client.destroy(enough)
  }

  #end(error: EgressError): void {
    this.#answerWith(this.#answer === undefined ? Effect.fail(error) : Effect.succeed(this.#answer))
  }

  #answerWith(answer: Effect.Effect<PostAnswer, EgressError>): void {
    clearTimeout(this.#timer)
    this.#resume(answer)
  }
}

const gone = new Error("the connection was lost before the call")

const lost = Effect.fail(new EgressError({ reason: "connection", cause: gone }))

const enough = new Error("no more is read")

const brokenOff = new EgressError({ reason: "connection" })

/** Header names of undici's are in lower case. */
export const plainHeaders = (
  headers: Dispatcher.ResponseData["headers"],
): Readonly<Record<string, string>> =>
  arePlain(headers)
    ? headers
    : Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(", ") : (value ?? ""),
        ]),
      )

/** Hardly any answer names a header twice. */
const arePlain = (
  headers: Dispatcher.ResponseData["headers"],
): headers is Readonly<Record<string, string>> =>
  Object.values(headers).every((value) => typeof value === "string")
