/**
 * The socket of an app: bound before anything else is started, so that a port that is taken stops the
 * start before anything is made; and closed in good order. Requests that come while the service is
 * being built wait for it, all but those about its health.
 */
import { makeHandler } from "@effect/platform-node/NodeHttpServer"
import { addressGroup, sharedResources, sleepInRealTime } from "@messaging-service/core"
import { Effect, Latch } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { randomInt } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { CannotStart, briefly } from "./CannotStart.ts"
import { ClientConnection } from "./ClientConnection.ts"

/** Clients that are slow on purpose may not keep connections for ever. Milliseconds. */
const limits = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  /** Node looks for connections over these limits only as often. */
  connectionsCheckingInterval: 5_000,
  /** Longer than proxies keep theirs (usually 60 s), so that they never use one that just closed. */
  keepAliveTimeout: 65_000,
}

/** How often to look which clients read nothing of their answers, in real time. */
const readingCheckMillis = 5_000

/** After so many looks in a row at which the client had read nothing its connection ends: 30 s. */
const looksInVain = 6

/** How long a stop waits for answers under way, in real time: as long as the worker's attempts get. */
const drainMillis = 8500

export interface HttpListener {
  /** `http://HOST:PORT`, with the port really bound. */
  readonly url: string
  /**
   * Answers requests until interrupted; then takes no more, lets the answers under way end, and
   * closes every connection. An app that is to be cut off in time must be interruptible.
   */
  serve(
    app: Effect.Effect<HttpServerResponse, never, HttpServerRequest | Scope.Scope>,
  ): Effect.Effect<never>
}

export interface ListenOptions {
  /** The variable that a line about the port names; `PORT` when left out. */
  readonly portVariable?: string
  /** Whether all clients come through a proxy, whose address says nothing of theirs. */
  readonly behindProxy?: boolean
}

/** The address of a server that listens there. */
export const addressOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** Binds the address; fails with a line that names the port's variable or `HOST`. */
export const listen = Effect.fnUntraced(function* (
  host: string,
  port: number,
  { behindProxy = false, portVariable = "PORT" }: ListenOptions = {},
): Effect.fn.Return<HttpListener, CannotStart, Scope.Scope> {
  const answers = openAnswers()
  const connections = openConnections(behindProxy)
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => connections.through(createServer(limits, answers.take))),
    (opened) => Effect.sync(() => closeNow(opened)),
  )
  const bound = yield* bind(server, host, port, portVariable)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(sleepInRealTime(readingCheckMillis), Effect.sync(connections.endUnread)),
    ),
  )

  const drain = Effect.gen(function* () {
    server.close()
    connections.makeLast()
    yield* Effect.raceFirst(answers.allGiven, sleepInRealTime(drainMillis))
    closeNow(server)
  })

  return {
    url: addressOf(host, bound),
    serve: (app) =>
      Effect.scoped(
        Effect.gen(function* () {
          answers.give(yield* makeHandler(app, { scope: yield* Effect.scope }))
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
          new CannotStart({ message: complaint(error, host, `${portVariable} ${port}`) }),
        ),
      )
    server.once("error", refused)
    server.listen({ host, port }, () => {
      server.off("error", refused)
      // An accept that fails, as when file descriptors run out, must not end the process.
      server.on("error", () => undefined)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

const complaint = (error: NodeJS.ErrnoException, host: string, port: string): string => {
  switch (error.code) {
    case "EADDRINUSE":
      return `${port} is in use by another program on ${host}`
    case "EACCES":
      return `${port} may not be listened on: ${briefly(error)}`
    default:
      return `HOST ${host} cannot be listened on: ${briefly(error)}`
  }
}

/** A connection that is open, and whose it is. */
interface Open {
  readonly address: string
  /** How many looks in a row found that the client had read nothing of its answer. */
  looks: number
}

/** The clients' connections, so many in all and so many from one address. */
const openConnections = (behindProxy: boolean) => {
  const { share, whole } = sharedResources.connections
  /** Oldest first. */
  const open = new Map<ClientConnection, Open>()
  const held = new Map<string, number>()
  let last = false

  const forget = (connection: ClientConnection) => {
    const known = open.get(connection)
    if (known === undefined) return
    open.delete(connection)
    const left = (held.get(known.address) ?? 0) - 1
    if (left > 0) held.set(known.address, left)
    else held.delete(known.address)
  }

  /**
   * Whether there is room for one more. Where all places are taken, the oldest idle connection of the
   * address that holds most makes it: a few addresses must not close the port to all others.
   */
  const makeRoom = (): boolean => {
    if (open.size < whole) return true
    let most = 0
    let chosen: ClientConnection | undefined
    for (const [connection, { address }] of open) {
      const holds = held.get(address) ?? 0
      if (holds > most && connection.isIdle) [most, chosen] = [holds, connection]
    }
    if (chosen === undefined) return false
    forget(chosen)
    chosen.destroy()
    return true
  }

  const accept = (socket: Socket, serve: (connection: Duplex) => void) => {
    const address = addressGroup(socket.remoteAddress ?? "")
    const holds = held.get(address) ?? 0
    if (last || (!behindProxy && holds >= share.most) || !makeRoom()) {
      socket.destroy()
      return
    }
    const connection = new ClientConnection(socket)
    open.set(connection, { address, looks: 0 })
    held.set(address, (held.get(address) ?? 0) + 1)
    connection.once("close", () => forget(connection))
    serve(connection)
  }

  return {
    /** Lets a server see its clients through connections of ours. */
    through: (server: Server): Server => {
      const served = server.listeners("connection")
      server.removeAllListeners("connection")
      server.on("connection", (socket: Socket) =>
        accept(socket, (connection) => {
          for (const serve of served) Reflect.apply(serve, server, [connection])
        }),
      )
      return server
    },
    /** Ends those whose clients have read nothing for too long. */
    endUnread: () => {
      for (const [connection, known] of open) {
        known.looks = connection.standsStill() ? known.looks + 1 : 0
        if (known.looks >= looksInVain) connection.destroy()
      }
    },
    /** Each connection closes with the last of its present answers. */
    makeLast: () => {
      last = true
      for (const connection of open.keys()) connection.makeLast()
    },
  }
}

/** The answers under way, and the requests that wait until the service is built. */
const openAnswers = () => {
  const underWay = new Set<ServerResponse>()
  const allGiven = Latch.makeUnsafe(true)
  let waiting: Array<readonly [IncomingMessage, ServerResponse]> = []
  let listener: RequestListener | undefined

  const begin: RequestListener = (request, response) => {
    underWay.add(response)
    allGiven.closeUnsafe()
    response.once("close", () => {
      underWay.delete(response)
      if (underWay.size === 0) allGiven.openUnsafe()
    })
    const by = namesTwoHosts(request)
      ? refuseRequest
      : (listener ?? startingHealth(request.method, request.url))
    if (by === undefined) waiting.push([request, response])
    else by(request, response)
  }

  const take: RequestListener = (request, response) => {
    const { socket } = request
    // What came through a `ClientConnection` has that for its socket.
    const connection: unknown = socket
    if (connection instanceof ClientConnection) {
      connection.ask(request, response, () => begin(request, response))
    } else begin(request, response)
  }

  return {
    take,
    /** From now on this listener answers, those that have waited first. */
    give: (by: RequestListener) => {
      listener = by
      for (const [request, response] of waiting) if (!response.destroyed) by(request, response)
      waiting = []
    },
    allGiven: allGiven.await,
  }
}

/**
 * Whether a request has more than one `Host`, of which Node shows the first: a proxy may have gone by
 * another one. RFC 9112 wants it refused.
 */
const namesTwoHosts = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host").length > 1

/** As Node refuses what it cannot read. */
const refuseRequest: RequestListener = (_, response) => {
  response
    .writeHead(400, {
      connection: "close",
      "content-length": 0,
      "cache-control": "no-store",
      "x-request-id": newRequestId(),
    })
    .end()
}

const idCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** An id in the form of the service's own, for answers that are given without the service. */
const newRequestId = (): string =>
  `req_${Array.from({ length: 24 }, () => idCharacters[randomInt(idCharacters.length)]).join("")}`

/**
 * Health while the service is being built, which takes long when tables must be brought up to date:
 * the process runs, and is not ready (contract: Open paths). Every other request waits.
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
