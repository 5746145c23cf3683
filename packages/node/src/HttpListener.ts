/**
 * The socket of an app. It binds before anything else starts, so a taken port stops the start before
 * it creates anything. It closes in good order. Requests wait while the service is being built, except
 * those about its health.
 */
import { randomInt } from "node:crypto"
import { createServer, STATUS_CODES } from "node:http"
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Duplex } from "node:stream"
import { makeHandler } from "@effect/platform-node/NodeHttpServer"
import { addressGroup, refuse, sharedLimits, sleepInRealTime } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { Effect, Latch } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { briefly, CannotStart } from "./CannotStart.ts"

/** Bytes to parse at once: fewer than fifty requests, however short. Known body bytes pass faster. */
const sliceBytes = 1024

/** The same behind the head of a body of unknown length, which must not take one turn per KiB. */
const chunkedSliceBytes = 4096

/** Bytes to hand to the socket at once; each piece counts as progress. */
const pieceBytes = 16 * 1024

type Done = (error?: Error | null) => void

/** A request with its response, and its start. */
interface PendingRequest {
  readonly response: ServerResponse
  readonly begin: () => void
}

/** The arguments of a stream's write. */
interface Chunk {
  readonly chunk: string | Buffer
  readonly encoding: BufferEncoding
}

const getPieces = ({ chunk, encoding }: Chunk): ReadonlyArray<Chunk> => {
  if (chunk.length <= pieceBytes) return [{ chunk, encoding }]
  const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) => ({
    chunk: bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
    encoding,
  }))
}

/**
 * A client's connection, between the socket and Node's HTTP server. Node parses all that has arrived,
 * and starts all pipelined requests at once. This class passes on small slices, and none while the
 * connection runs its maximum of requests. So neither handlers nor parsed requests pile up: the rest
 * stays with the system, and TCP holds the client back. For measurements of Node's own back-pressure
 * see docs/decisions/client-connections.md.
 *
 * It also tracks how far the client has read its responses, to detect one that does not read.
 */
export class ClientConnection extends Duplex {
  readonly #socket: Socket
  /** In the order of the requests, which is that of the responses. */
  readonly #underWay = new Set<ServerResponse>()
  #waiting: Array<PendingRequest> = []
  /** Received and not yet parsed. */
  #held: Buffer | null = null
  /** Bytes of the current body, in which no other request can begin. */
  #bodyBytes = 0
  #sliceBytes = sliceBytes
  #isRequested = false
  #isPassingOn = false
  #willPassOn = false
  #hasEnded = false
  #isLast = false
  #isWriting = false
  #pieces = 0
  #piecesSeen = 0

  constructor(socket: Socket) {
    super({ decodeStrings: false, readableHighWaterMark: 1 })
    this.#socket = socket
    socket.on("data", (bytes: Buffer) => {
      this.#held = this.#held === null ? bytes : Buffer.concat([this.#held, bytes])
      this.#passOn()
      if (this.#held !== null) socket.pause()
    })
    socket.once("end", () => {
      this.#hasEnded = true
      this.#passOn()
    })
    socket.on("timeout", () => this.emit("timeout"))
    socket.once("error", (error) => this.destroy(error))
    socket.once("close", () => this.destroy())
    this.once("close", () => this.#abandon())
  }

  // Methods of a socket that Node's HTTP server and its users need.

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress
  }

  setTimeout(millis: number): this {
    this.#socket.setTimeout(millis)
    return this
  }

  /** Closes once everything is written, as a socket does. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once("finish", () => this.destroy())
  }

  /** Starts the request, or makes it wait for an earlier one's response. */
  schedule(request: IncomingMessage, response: ServerResponse, begin: () => void): void {
    // The slice with the request's head also holds some of its body, a slice at most.
    this.#bodyBytes = Math.max(0, Number(request.headers["content-length"] ?? 0) - sliceBytes)
    this.#sliceBytes =
      request.headers["transfer-encoding"] === undefined ? sliceBytes : chunkedSliceBytes
    const requested = { response, begin }
    if (this.#isFull() || this.#waiting.length > 0) this.#waiting.push(requested)
    else this.#begin(requested)
  }

  /** Accepts no more requests: the connection closes with the last running response. */
  closeWhenAnswered(): void {
    this.#isLast = true
    this.#waiting = []
    const last = [...this.#underWay].at(-1)
    if (last !== undefined) last.shouldKeepAlive = false
  }

  /** Whether no request runs: closing then loses nothing. */
  get isIdle(): boolean {
    return this.#underWay.size === 0 && this.#waiting.length === 0
  }

  /** Whether an answer to what cannot be parsed is mistaken for no other request's, and breaks into none. */
  get mayRefuse(): boolean {
    const [running] = this.#underWay
    const isAlone = this.#underWay.size <= 1 && this.#waiting.length === 0
    return this.writable && isAlone && running?.headersSent !== true
  }

  /** Whether the client has read none of the waiting bytes since the last call. */
  isStalled(): boolean {
    const stalled = this.#isWriting && this.#pieces === this.#piecesSeen
    this.#piecesSeen = this.#pieces
    return stalled
  }

  #isFull(): boolean {
    return this.#underWay.size >= sharedLimits.pipelinedRequests.whole
  }

  #begin({ begin, response }: PendingRequest): void {
    this.#underWay.add(response)
    response.once("close", () => {
      this.#underWay.delete(response)
      this.#startWaiting()
      this.#passOnLater()
    })
    begin()
  }

  #startWaiting(): void {
    while (!this.#isFull()) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#begin(next)
    }
  }

  /** Ends all running responses: the client has gone, and Node ends only the one that writes. */
  #abandon(): void {
    this.#waiting = []
    this.#held = null
    this.#socket.destroy()
    for (const response of this.#underWay) {
      response.destroy()
      response.emit("close")
    }
  }

  #nextSlice(): Buffer | null {
    const buffered = this.#held
    if (buffered === null) return null
    const size = this.#bodyBytes > 0 ? this.#bodyBytes : this.#sliceBytes
    const slice = buffered.subarray(0, size)
    this.#bodyBytes = Math.max(0, this.#bodyBytes - slice.length)
    this.#held = buffered.length > slice.length ? buffered.subarray(slice.length) : null
    return slice
  }

  #passOn(): void {
    if (this.#isPassingOn) return
    this.#isPassingOn = true
    if (this.#isRequested && !this.#isLast && !this.#isFull() && !this.destroyed) {
      const slice = this.#nextSlice()
      if (slice !== null) this.#isRequested = this.push(slice)
      if (this.#held !== null && this.#isRequested) this.#passOnLater()
    }
    this.#isPassingOn = false
    if (this.#held !== null || this.destroyed) return
    // With nothing held back it keeps reading, even with many running requests: so it detects the end.
    if (this.#hasEnded) {
      this.#hasEnded = false
      this.push(null)
    } else if (this.#socket.isPaused()) this.#socket.resume()
  }

  override _read(): void {
    this.#isRequested = true
    // A stream asks for more before it has passed on its data, and keeps what it gets at once. Parse a
    // slice before sending the next one: only then its content is known.
    if (this.#held === null) this.#passOn()
    else this.#passOnLater()
  }

  /**
   * The next slice waits for a turn of all other connections, so one client's pipelined requests delay
   * no other client.
   */
  #passOnLater(): void {
    if (this.#willPassOn) return
    this.#willPassOn = true
    setImmediate(() => {
      this.#willPassOn = false
      this.#passOn()
    })
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: Done): void {
    this.#writeAll([{ chunk, encoding }], done)
  }

  override _writev(chunks: ReadonlyArray<Chunk>, done: Done): void {
    this.#writeAll(chunks, done)
  }

  #writeAll(chunks: ReadonlyArray<Chunk>, done: Done): void {
    this.#isWriting = true
    this.#writeNext(chunks.flatMap(getPieces), (error) => {
      this.#isWriting = false
      done(error)
    })
  }

  /** As much as fits in one piece, so a short response's head and body leave in one write. */
  #writeNext(pieces: ReadonlyArray<Chunk>, done: Done): void {
    let bytes = 0
    const over = pieces.findIndex(({ chunk }, index) => {
      bytes += chunk.length
      return index > 0 && bytes > pieceBytes
    })
    const now = over === -1 ? pieces : pieces.slice(0, over)
    const written: Done = (error) => {
      this.#pieces++
      const rest = pieces.slice(now.length)
      if ((error !== null && error !== undefined) || rest.length === 0) done(error)
      else this.#writeNext(rest, done)
    }
    this.#socket.cork()
    for (const [index, { chunk, encoding }] of now.entries()) {
      this.#socket.write(chunk, encoding, index === now.length - 1 ? written : undefined)
    }
    this.#socket.uncork()
  }

  override _final(done: Done): void {
    this.#socket.end(() => done())
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy()
    done(error)
  }
}

/** Bounds on slow clients, in milliseconds, and what Node leaves to us. */
const limits = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  /** How often Node checks connections against these limits. */
  connectionsCheckingInterval: 5_000,
  /** Longer than proxies keep theirs (usually 60 s), so they never use one that just closed. */
  keepAliveTimeout: 65_000,
  /** Node's own refusal has no body (`hasWrongHost`). */
  requireHostHeader: false,
}

/** How often the listener checks for clients that do not read their responses, in real time. */
const stallCheckMillis = 5_000

/** A connection ends after this many checks in a row without progress: 30 s. */
const stalledChecksMax = 6

/** How long a stop waits for running responses, in real time: as long as for the worker's attempts. */
const drainMillis = 8500

export interface HttpListener {
  /** `http://HOST:PORT`, with the bound port. */
  readonly url: string
  /** Returns when it begins to stop, before it waits for running responses. */
  readonly stopping: Effect.Effect<void>
  /**
   * Answers requests until interrupted. It then accepts no more, lets the running responses end, and
   * closes every connection. An app with a time limit must be interruptible.
   */
  serve<Services = never>(
    app: Effect.Effect<HttpServerResponse, never, Services>,
  ): Effect.Effect<never, never, Exclude<Services, HttpServerRequest | Scope.Scope>>
}

export interface ListenOptions {
  /** The variable that a line about the port names. Default: `PORT`. */
  readonly portVariable?: string
  /** Whether all clients come through a proxy: its address does not identify them. */
  readonly behindProxy?: boolean
  /** Origin of the error catalogue. Default: where it listens. */
  readonly docsUrl?: string
}

/** URL of a server that listens there. */
export const getAddress = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** Binds the address; fails with a line that names the port's variable or `HOST`. */
export const listen = Effect.fnUntraced(function* listen(
  host: string,
  port: number,
  { behindProxy = false, docsUrl, portVariable = "PORT" }: ListenOptions = {},
): Effect.fn.Return<HttpListener, CannotStart, Scope.Scope> {
  let docsOrigin = docsUrl ?? ""
  const toAnswer = (refusal: Refusal) => refusalAnswer(refusal, docsOrigin)
  const requests = makeRequests(toAnswer)
  const connections = makeConnections(behindProxy)
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => connections.serveThrough(createServer(limits, requests.schedule))),
    (opened) => Effect.sync(() => closeNow(opened)),
  )
  server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    answerUnreadable(socket, toAnswer(unreadableRefusal(error.code))),
  )
  const bound = yield* bind(server, host, port, portVariable)
  docsOrigin = docsUrl ?? getAddress(host, bound)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(sleepInRealTime(stallCheckMillis), Effect.sync(connections.endStalled)),
    ),
  )

  const stopping = Latch.makeUnsafe(false)
  const drain = Effect.gen(function* drain() {
    stopping.openUnsafe()
    server.close()
    connections.closeWhenAnswered()
    yield* Effect.raceFirst(requests.allAnswered, sleepInRealTime(drainMillis))
    closeNow(server)
  })

  return {
    url: getAddress(host, bound),
    stopping: stopping.await,
    serve: (app) =>
      Effect.scoped(
        Effect.gen(function* () {
          requests.serveWith(yield* makeHandler(app, { scope: yield* Effect.scope }))
          return yield* Effect.ensuring(Effect.never, drain)
        }),
      ),
  }
})

const closeNow = (server: Server) => {
  server.close()
  server.closeAllConnections()
}

const bind = (server: Server, host: string, port: number, portVariable: string) =>
  Effect.callback<number, CannotStart>((resume) => {
    const refused = (error: NodeJS.ErrnoException) =>
      resume(
        Effect.fail(
          new CannotStart({ message: bindFailure(error, host, `${portVariable} ${port}`) }),
        ),
      )
    server.once("error", refused)
    server.listen({ host, port }, () => {
      server.off("error", refused)
      // A failing accept, as without file descriptors, must not end the process.
      server.on("error", () => undefined)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

const bindFailure = (error: NodeJS.ErrnoException, host: string, port: string): string => {
  switch (error.code) {
    case "EADDRINUSE":
      return `${port} is in use by another program on ${host}`
    case "EACCES":
      return `${port} cannot be used:${briefly(error)}`
    default:
      return `HOST ${host} cannot be listened on: ${briefly(error)}`
  }
}

/** An open connection, and its address. */
interface Open {
  readonly address: string
  /** Number of checks in a row that found no progress of the client. */
  stalledChecks: number
}

/** Client connections, with a maximum in total and one per address. */
const makeConnections = (behindProxy: boolean) => {
  const { share, whole } = sharedLimits.connections
  /** Oldest first. */
  const open = new Map<ClientConnection, Open>()
  const countByAddress = new Map<string, number>()
  let isClosing = false

  const forget = (connection: ClientConnection) => {
    const known = open.get(connection)
    if (known === undefined) return
    open.delete(connection)
    const left = (countByAddress.get(known.address) ?? 0) - 1
    if (left > 0) countByAddress.set(known.address, left)
    else countByAddress.delete(known.address)
  }

  /**
   * Whether there is room for one more. At the maximum, the oldest idle connection of the address with
   * the most connections closes: a few addresses must not block the port for all others.
   */
  const makeRoom = (): boolean => {
    if (open.size < whole) return true
    let max = 0
    let chosen: ClientConnection | undefined
    for (const [connection, { address }] of open) {
      const openCount = countByAddress.get(address) ?? 0
      if (openCount > max && connection.isIdle) [max, chosen] = [openCount, connection]
    }
    if (chosen === undefined) return false
    forget(chosen)
    chosen.destroy()
    return true
  }

  const accept = (socket: Socket, serve: (connection: Duplex) => void) => {
    const address = addressGroup(socket.remoteAddress ?? "")
    const openCount = countByAddress.get(address) ?? 0
    if (isClosing || (!behindProxy && openCount >= share.most) || !makeRoom()) {
      socket.destroy()
      return
    }
    const connection = new ClientConnection(socket)
    open.set(connection, { address, stalledChecks: 0 })
    countByAddress.set(address, (countByAddress.get(address) ?? 0) + 1)
    connection.once("close", () => forget(connection))
    serve(connection)
  }

  return {
    /** Shows a server its clients through our own connections. */
    serveThrough: (server: Server): Server => {
      const served = server.listeners("connection")
      server.removeAllListeners("connection")
      server.on("connection", (socket: Socket) =>
        accept(socket, (connection) => {
          for (const serve of served) Reflect.apply(serve, server, [connection])
        }),
      )
      return server
    },
    /** Ends connections of clients that have read nothing for too long. */
    endStalled: () => {
      for (const [connection, known] of open) {
        known.stalledChecks = connection.isStalled() ? known.stalledChecks + 1 : 0
        if (known.stalledChecks >= stalledChecksMax) connection.destroy()
      }
    },
    /** Each connection closes with the last of its current responses. */
    closeWhenAnswered: () => {
      isClosing = true
      for (const connection of open.keys()) connection.closeWhenAnswered()
    },
  }
}

/** Running responses, and requests that wait for the service. */
const makeRequests = (toAnswer: (refusal: Refusal) => RefusalAnswer) => {
  const underWay = new Set<ServerResponse>()
  const allAnswered = Latch.makeUnsafe(true)
  let waiting: Array<readonly [IncomingMessage, ServerResponse]> = []
  let listener: RequestListener | undefined

  const begin: RequestListener = (request, response) => {
    underWay.add(response)
    allAnswered.closeUnsafe()
    response.once("close", () => {
      underWay.delete(response)
      if (underWay.size === 0) allAnswered.openUnsafe()
    })
    const by = hasWrongHost(request)
      ? refusing(toAnswer(malformed))
      : (listener ?? startingHealth(request.method, request.url))
    if (by === undefined) waiting.push([request, response])
    else by(request, response)
  }

  const schedule: RequestListener = (request, response) => {
    const { socket } = request
    // Requests over a `ClientConnection` have it as their socket.
    const connection: unknown = socket
    if (connection instanceof ClientConnection) {
      connection.schedule(request, response, () => begin(request, response))
    } else begin(request, response)
  }

  return {
    schedule,
    /** From now on this listener answers, beginning with the waiting requests. */
    serveWith: (by: RequestListener) => {
      listener = by
      for (const [request, response] of waiting) if (!response.destroyed) by(request, response)
      waiting = []
    },
    allAnswered: allAnswered.await,
  }
}

/**
 * Whether a request has several `Host` headers, or none in HTTP/1.1: RFC 9112 demands a refusal. Of
 * several Node shows only the first, and a proxy may have used another one.
 */
const hasWrongHost = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  const names = rawHeaders.filter((_, index) => index % 2 === 0)
  const hosts = names.filter((name) => name.toLowerCase() === "host").length
  return hosts > 1 || (hosts === 0 && httpVersion === "1.1")
}

// Answers to malformed HTTP, which reaches no route (contract: Requests and answers). They repeat
// nothing of what was sent, and the connection closes.

interface RefusalAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: string
}

const malformed = refuse("validation_failed", { message: "The request is not valid HTTP." })
const headTooLarge = refuse("request_too_large", { message: "The request's head is too large." })
const tooSlow = refuse("validation_failed", { message: "The request did not arrive in time." })

/** By the code of the parser's error. */
const unreadableRefusal = (code: string | undefined): Refusal => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return headTooLarge
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return tooSlow
    default:
      return malformed
  }
}

const refusalAnswer = (refusal: Refusal, docsOrigin: string): RefusalAnswer => {
  const { code, field, message } = refusal
  const id = newRequestId()
  const docs = `${docsOrigin}/docs/errors#${code}`
  const body = JSON.stringify({ error: { code, message, field, docs, request_id: id } })
  return {
    // Clients may repeat a request after 408, so that status stays.
    status: refusal === tooSlow ? 408 : refusal.status,
    headers: {
      connection: "close",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
      "x-request-id": id,
    },
    body,
  }
}

const refusing =
  ({ body, headers, status }: RefusalAnswer): RequestListener =>
  (_, response) => {
    response.writeHead(status, headers).end(body)
  }

const answerUnreadable = (socket: Duplex, { body, headers, status }: RefusalAnswer): void => {
  if (!(socket instanceof ClientConnection) || !socket.mayRefuse) {
    socket.destroy()
    return
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const words = STATUS_CODES[status] ?? ""
  socket.write(`HTTP/1.1 ${status} ${words}\r\n${lines.join("")}\r\n${body}`)
  socket.destroySoon()
}

const idCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** An id in the service's own format, for responses without the service. */
const newRequestId = (): string =>
  `req_${Array.from({ length: 24 }, () => idCharacters[randomInt(idCharacters.length)]).join("")}`

/**
 * Health while the service is being built, which takes long when tables need a migration: the process
 * runs, and is not ready (contract: Open paths). Every other request waits.
 */
const answersWhileStarting: Readonly<Record<string, readonly [status: number, word: string]>> = {
  "/health/live": [200, "ok"],
  "/health/ready": [503, "unavailable"],
}

/** The listener for a request about health; undefined for any other. */
const startingHealth = (
  method: string | undefined,
  target: string | undefined,
): RequestListener | undefined => {
  const answer = answersWhileStarting[(target ?? "").split("?", 1)[0] ?? ""]
  if (answer === undefined || (method !== "GET" && method !== "HEAD")) return undefined
  const [status, word] = answer
  return (_, response) => {
    const body = JSON.stringify({ status: word })
    response
      .writeHead(status, {
        "content-type": "application/json",
        "content-length": body.length,
        "cache-control": "no-store",
        "x-request-id": newRequestId(),
      })
      .end(method === "HEAD" ? undefined : body)
  }
}
