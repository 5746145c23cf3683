/**
 * Outbound connections, from name to socket: our own name resolution, address checks, connections to
 * exactly the checked addresses, and keep-alive connections for posts.
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
import type { Client, Dispatcher } from "undici"

/** All addresses of a host name. Fails with `dns` without one. */
export type Resolver = (hostname: string) => Effect.Effect<ReadonlyArray<string>, EgressError>

/** A lookup for a workspace, which uses that workspace's share. */
type LookUp = (hostname: string, workspaceId: WorkspaceId) => ReturnType<Resolver>

/**
 * Lookups that share a resolver. Callers that ask for one name at the same time share one lookup. It
 * ends with its last caller, and with the scope. A bound per workspace makes names with silent servers
 * delay only their own workspace.
 */
export const sharedLookUps = (resolve: Resolver): Effect.Effect<LookUp, never, Scope.Scope> =>
  Effect.map(RcMap.make({ lookup: resolve }), (underWay) => {
    const lookUps = makeBulkhead<WorkspaceId>(sharedLimits.nameLookUps)
    return (hostname, workspaceId) =>
      Effect.scoped(Effect.andThen(lookUps.acquire(workspaceId), RcMap.get(underWay, hostname)))
  })

/** The `hostname` of a parsed URL without the brackets of an IPv6 literal. */
export const withoutBrackets = (hostname: string): string =>
  hostname.startsWith("[") ? hostname.slice(1, -1) : hostname

/** Whether the rule allows this address. */
const isAllowed = (rule: OutboundRule, address: string): boolean =>
  rule.allowPrivate || isPublicAddress(address)

/**
 * Addresses of a host, resolved once and all allowed; a literal is its own address. Fails with `dns`, or with
 * `blocked_address` when the rule blocks a single one: no honest name resolves to both public and private
 * addresses.
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
  /** Opens a TCP connection. Default: `node:net`'s `connect`; tests replace it. */
  readonly dial: (options: TcpNetConnectOpts) => Socket
  /** Certificate authorities to trust in addition to the system's, as PEM. */
  readonly certificateAuthorities: ReadonlyArray<string>
}

export const dialTcp: ConnectionSettings["dial"] = (options) => connect(options)

/** Scheme, host and, unless it is the scheme's default, port. */
export const getOrigin = ({ protocol, hostname, port }: OutboundUrl): string =>
  `${protocol}//${hostname}${port === "" ? "" : `:${port}`}`

/**
 * Opens a connection to the link's host for that workspace, with verified TLS for `https`; the scope
 * destroys it. The outbound rule applies to a name's addresses, not to the name. The name resolves
 * once, every address must pass, and the socket connects to one of exactly those addresses. Another
 * check of the open socket's address follows before the first byte leaves, TLS included.
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

/** A socket that reports when it is ready, and closes with the scope, whatever happens before. */
const scopedSocket = <A extends Socket>(
  make: () => A,
  ready: string,
  toReason: (error: unknown) => EgressError["reason"],
): Effect.Effect<A, EgressError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = make()
      const becomesReady = new Promise<void>((resolve, reject) => {
        socket.once(ready, resolve)
        // Keep this listener for the socket's whole life: an unhandled error would end the process.
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
        catch: (cause) => new EgressError({ reason: toReason(cause), cause }),
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
        // Tries the addresses in turn, a quarter of a second each, so a dead one costs little.
        autoSelectFamily: true,
        noDelay: true,
      }),
    "connect",
    () => "connection",
  ).pipe(
    Effect.tap((socket) => {
      const address = socket.remoteAddress
      // A socket without one is closed already.
      if (address === undefined) return new EgressError({ reason: "connection" })
      return isAllowed(settings.rule, address)
        ? Effect.void
        : new EgressError({ reason: "blocked_address", cause: address })
    }),
  )

/** Answers Node's lookup with the checked addresses, without asking a resolver. */
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
      // A literal address has no server name; a name's closing dot is not part of it.
      const serverName = isIP(host) === 0 ? host.replace(/\.$/, "") : ""
      return tls.connect({
        socket: tcp,
        host: serverName === "" ? host : serverName,
        servername: serverName,
        ALPNProtocols: ["http/1.1"],
        // Explicit, because an environment variable can turn the default off.
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
  /** `address` or `address:port` of each name server. Default: the system's. */
  readonly servers?: ReadonlyArray<string>
  /** Default: `/etc/hosts`. */
  readonly hostsFile?: string
  /** Timeout of a whole lookup. Default: 4,000, less than the time that a call has to connect. */
  readonly timeoutMillis?: number
}

/** Delay before asking a name server again; it doubles with each try. */
const tryMillis = 1000

const tries = 3

/** Extra time for the slower address family: some servers answer for version 4 and never for version 6. */
const laggardMillis = 500

/**
 * Resolves names over our own sockets. The system's `getaddrinfo` holds one of a few threads while a name's
 * server is silent, and cannot be cancelled. A few such names stop every other lookup and all file work
 * (docs/decisions/dns-lookups.md). Here each lookup has its own sockets and ends with its caller.
 *
 * Like the system, it reads the hosts file first, and again after a change. It asks the name servers of
 * `/etc/resolv.conf`, and accepts addresses of both families, version 4 first. `localhost` and names that end
 * in `.localhost` are this machine (RFC 6761).
 *
 * It has no search domains and `ndots` (a link names its host in full), no other sources of `nsswitch.conf`,
 * and no `.local` names over multicast.
 */
export const nameServerResolver = ({
  hostsFile = "/etc/hosts",
  servers,
  timeoutMillis = 4000,
}: NameServerOptions = {}): Resolver => {
  const hosts = getHosts(hostsFile)
  return (hostname) =>
    Effect.gen(function* () {
      const name = hostname.toLowerCase().replace(/\.$/, "")
      const listed = (yield* hosts).get(name)
      if (listed !== undefined) return listed
      if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"]
      return yield* ask(name, servers, timeoutMillis)
    })
}

/** One lookup with its own sockets, which interruption closes. */
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

/** Names of a hosts file, read on demand when the file has changed. */
const getHosts = (path: string): Effect.Effect<Hosts, EgressError> => {
  let known: Hosts = new Map()
  let version = ""
  const read = () => {
    // Synchronous: asynchronous file work would need the very threads that this code spares.
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
 * Closes an idle connection after this time, or when the remote has announced to close it. It is short,
 * because a call that starts while the remote closes gets lost.
 */
const defaultIdleMillis = 4000

interface Connection {
  readonly client: Client
  /** Workspace of its last call: an idle connection counts against that workspace's share. */
  lastFor: WorkspaceId
  readonly socket: Socket
  /** Closes the socket. */
  readonly scope: Scope.Closeable
}

/** Target of a post; connections are kept by origin. */
interface PostTarget {
  readonly origin: string
  /** With the query. */
  readonly path: string
}

interface Post {
  readonly target: PostTarget
  readonly request: PostRequest
  readonly limits: PostLimits
  /** When the whole call times out, by `performance.now`. */
  readonly deadline: number
}

/** Makes the post; `connecting` opens a connection to the origin when no idle one exists. */
export type PostOverPool = (
  target: PostTarget,
  request: PostRequest,
  limits: PostLimits,
  connecting: Effect.Effect<Socket, EgressError, Scope.Scope>,
) => Effect.Effect<PostAnswer, EgressError>

/**
 * Posts over keep-alive connections. A connection opens and passes the checks of any call, and serves
 * one call at a time. Between calls it waits in its origin's idle list, where the receiver may drop it
 * at any moment. Our bounds limit how many wait and how long; an answer's `Keep-Alive` can shorten the
 * time, not prolong it. All close with the scope.
 *
 * Undici's own `Agent` would open connections beyond these bounds: docs/decisions/kept-connections.md.
 */
export const postOverPool = (
  idleMillis: number = defaultIdleMillis,
): Effect.Effect<PostOverPool, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new IdleConnections(idleMillis)),
      (idle) => Effect.forEach(idle.all(), close, { concurrency: "unbounded", discard: true }),
    ),
    postOver,
  )

const postOver = (idle: IdleConnections): PostOverPool => {
  const postPooled: PostOverPool = (target, request, limits, connecting) =>
    Effect.callback((resume) => {
      const deadline = performance.now() + limits.timeoutMillis
      const post: Post = { target, request, limits, deadline }
      const onFresh = Effect.suspend(() =>
        onOpened(idle, target.origin, request.workspaceId, connecting, (connection) =>
          Effect.callback<PostAnswer, EgressError>((answer) =>
            new CallOnPooledConnection(idle, connection, post, lost, answer).start(),
          ),
        ),
      )
      const waiting = idle.take(target.origin)
      if (waiting === undefined) return resume(onFresh)
      return new CallOnPooledConnection(idle, waiting, post, onFresh, resume).start()
    })
  return postPooled
}

class IdleConnections {
  readonly idleMillis: number
  readonly #byOrigin = new Map<string, Array<Connection>>()
  readonly #permits = makeRejectingBulkhead<WorkspaceId>(sharedLimits.keptConnections)

  constructor(idleMillis: number) {
    this.idleMillis = idleMillis
  }

  /** The most recently used one. */
  take(origin: string): Connection | undefined {
    const connections = this.#byOrigin.get(origin)
    const latest = connections?.pop()
    if (latest !== undefined) this.#release(latest)
    if (connections?.length === 0) this.#byOrigin.delete(origin)
    return latest
  }

  /** False when it has no room, or it is already closed. */
  keep(origin: string, connection: Connection): boolean {
    if (connection.socket.destroyed || !this.#permits.tryAcquire()) return false
    if (!this.#permits.tryAcquireShare(connection.lastFor)) {
      this.#permits.release()
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
    this.#release(connection)
    if (connections.length === 0) this.#byOrigin.delete(origin)
  }

  #release({ lastFor }: Connection): void {
    this.#permits.release()
    this.#permits.releaseShare(lastFor)
  }

  all(): ReadonlyArray<Connection> {
    return [...this.#byOrigin.values()].flat()
  }
}

/** Makes the call on a new connection, which an interruption closes. */
const onOpened = (
  idle: IdleConnections,
  origin: string,
  workspaceId: WorkspaceId,
  connecting: Effect.Effect<Socket, EgressError, Scope.Scope>,
  call: (connection: Connection) => Effect.Effect<PostAnswer, EgressError>,
): Effect.Effect<PostAnswer, EgressError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const undici = yield* loadUndici
      const scope = yield* Scope.make()
      const socket = yield* restore(Scope.provide(connecting, scope)).pipe(
        Effect.onError(() => Scope.close(scope, Exit.void)),
      )
      const client = clientOver(undici, origin, socket, idle.idleMillis)
      const connection: Connection = { client, socket, scope, lastFor: workspaceId }
      socket.once("close", () => idle.forget(origin, connection))
      return yield* Effect.onInterrupt(restore(call(connection)), () => close(connection))
    }),
  )

const close = ({ client, scope }: Connection): Effect.Effect<void> =>
  Effect.andThen(
    Effect.promise(() => client.destroy()),
    Scope.close(scope, Exit.void),
  )

/**
 * Undici, which loads with the first call: most programs make none. Load it before the socket is open,
 * for nothing listens to a socket while the module loads.
 */
export const loadUndici: Effect.Effect<typeof import("undici")> = Effect.promise(
  () => import("undici"),
)

/** A client over that one socket. It is useless once the socket closes. */
export const clientOver = (
  { Client: Created }: Effect.Success<typeof loadUndici>,
  origin: string,
  socket: Socket,
  idleMillis: number = defaultIdleMillis,
): Client => {
  const client = new Created(origin, clientOptions(socket, idleMillis))
  client.once("connect", () => passOverContinue(socket))
  return client
}

/** Undici's parser of a socket's answers, as far as it is replaced. */
interface AnswerParser {
  onHeadersComplete(status: number, ...rest: ReadonlyArray<unknown>): number
}

/**
 * Undici's parser passes over every interim answer but 100, which ends its connection. A receiver may send that one
 * unasked too (RFC 9110, 15.2), so the parser gets it as 102.
 */
const passOverContinue = (socket: Socket): void => {
  const parserKey = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === "parser",
  )
  if (parserKey === undefined) return
  const parser = (socket as unknown as Record<symbol, AnswerParser>)[parserKey]
  const input = parser?.onHeadersComplete
  if (parser === undefined || input === undefined) return
  parser.onHeadersComplete = (status, ...rest) =>
    input.call(parser, status === 100 ? 102 : status, ...rest)
}

const clientOptions = (socket: Socket, idleMillis: number): Client.Options => {
  let handedOut = false
  return {
    // The deadline of the whole call applies.
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    keepAliveTimeout: idleMillis,
    keepAliveMaxTimeout: idleMillis,
    connect: (_target, answer) => {
      const first = !handedOut
      handedOut = true
      // Later, because undici expects no response before this returns.
      queueMicrotask(() => {
        if (first) answer(null, socket)
        // A second connection would skip the checks.
        else answer(deleted, null)
      })
    },
  }
}

type Answering = (answer: Effect.Effect<PostAnswer, EgressError>) => void

/**
 * One call on a connection, which stays open afterwards if possible. It is one object, because thousands run
 * per second. The result is the status, even when the body is interrupted, is too long or does not end in time.
 * The caller decides about `ifGone`: the connection broke before the call, and nothing was sent.
 */
class CallOnPooledConnection implements Dispatcher.DispatchHandler {
  readonly #idle: IdleConnections
  readonly #connection: Connection
  readonly #post: Post
  readonly #ifGone: Effect.Effect<PostAnswer, EgressError>
  readonly #resume: Answering
  #timer: NodeJS.Timeout | undefined
  #answer: PostAnswer | undefined
  #received = 0
  /** The beginning of the content, as far as it is returned. */
  #kept: Array<Buffer> | undefined

  constructor(
    idle: IdleConnections,
    connection: Connection,
    post: Post,
    ifMissing: Effect.Effect<PostAnswer, EgressError>,
    resume: Answering,
  ) {
    this.#idle = idle
    this.#connection = connection
    this.#post = post
    this.#ifGone = ifMissing
    this.#resume = resume
  }

  /** Stops it. */
  start(): Effect.Effect<void> {
    const { deadline, request, target } = this.#post
    this.#timer = setTimeout(() => this.#timeOut(), Math.max(0, deadline - performance.now()))
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
      this.#abandon()
    })
  }

  onRequestStart(): void {
    // The outcome is unknown yet.
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // "103 Early Hints" and its like are not the final response.
    if (status < 200) return
    this.#answer = { status, headers: plainHeaders(headers) }
    if (Number(headers["content-length"] ?? 0) > this.#post.limits.maximumBytes) this.#abandon()
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = (this.#post.limits.storedBytes ?? 0) - this.#received
    if (room > 0) (this.#kept ??= []).push(Buffer.from(chunk.subarray(0, room)))
    this.#received += chunk.length
    if (this.#received > this.#post.limits.maximumBytes) this.#abandon()
  }

  onResponseEnd(): void {
    if (!this.#idle.keep(this.#post.target.origin, this.#connection)) this.#abandon()
    this.#end(brokenOff)
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.#abandon()
    if (cause === deleted) this.#answerWith(this.#ifGone)
    else this.#end(new EgressError({ reason: "connection", cause }))
  }

  #timeOut(): void {
    this.#abandon()
    this.#end(new EgressError({ reason: "timeout" }))
  }

  #abandon(): void {
    void this.#connection.client.destroy(enough)
  }

  #end(error: EgressError): void {
    this.#answerWith(
      this.#answer === undefined ? Effect.fail(error) : Effect.succeed(this.#whole(this.#answer)),
    )
  }

  #whole(answer: PostAnswer): PostAnswer {
    if (this.#post.limits.storedBytes === undefined) return answer
    return { ...answer, beginning: Buffer.concat(this.#kept ?? []) }
  }

  #answerWith(answer: Effect.Effect<PostAnswer, EgressError>): void {
    clearTimeout(this.#timer)
    this.#resume(answer)
  }
}

const deleted = new Error("the connection was lost before the call")

const lost = Effect.fail(new EgressError({ reason: "connection", cause: deleted }))

const enough = new Error("no more is read")

const brokenOff = new EgressError({ reason: "connection" })

/** Undici's header names are in lower case. */
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

/** Few responses repeat a header. */
const arePlain = (
  headers: Dispatcher.ResponseData["headers"],
): headers is Readonly<Record<string, string>> =>
  Object.values(headers).every((value) => typeof value === "string")
