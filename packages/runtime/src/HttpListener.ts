/**
 * The socket of an app: bound before anything else is started, so that a port that is taken stops the
 * start before anything is made; and closed in good order. Requests that come while the service is
 * being built wait for it, all but those about its health.
 */
import { makeHandler } from "@effect/platform-node/NodeHttpServer"
import { sleepInRealTime } from "@messaging-service/core"
import { Effect, Latch } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { createServer } from "node:http"
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import { CannotStart, briefly } from "./CannotStart.ts"
import { addressOf } from "./ServiceSettings.ts"
import { startingHealth } from "./startingHealth.ts"

/** Clients that are slow on purpose may not keep connections for ever. Milliseconds. */
const limits = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  /** Node looks for connections over these limits only as often. */
  connectionsCheckingInterval: 5_000,
  /** Longer than proxies keep theirs (usually 60 s), so that they never use one that just closed. */
  keepAliveTimeout: 65_000,
}

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

/** Binds the address; fails with a line that names the port's variable or `HOST`. */
export const listen = Effect.fnUntraced(function* (
  host: string,
  port: number,
  portVariable = "PORT",
): Effect.fn.Return<HttpListener, CannotStart, Scope.Scope> {
  const answers = openAnswers()
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => createServer(limits, answers.take)),
    (opened) => Effect.sync(() => closeNow(opened)),
  )
  const bound = yield* bind(server, host, port, portVariable)

  const drain = Effect.gen(function* () {
    server.close()
    answers.makeLast()
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
      // A connection that could not be accepted, for want of file descriptors, is the client's loss.
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

/** The answers under way, and the requests that wait until somebody answers. */
const openAnswers = () => {
  const underWay = new Set<ServerResponse>()
  const allGiven = Latch.makeUnsafe(true)
  let waiting: Array<readonly [IncomingMessage, ServerResponse]> = []
  let listener: RequestListener | undefined
  let last = false

  const take: RequestListener = (request, response) => {
    underWay.add(response)
    allGiven.closeUnsafe()
    if (last) response.shouldKeepAlive = false
    response.once("close", () => {
      underWay.delete(response)
      if (underWay.size === 0) allGiven.openUnsafe()
    })
    const by = listener ?? startingHealth(request.method, request.url)
    if (by === undefined) waiting.push([request, response])
    else by(request, response)
  }

  return {
    take,
    /** From now on this listener answers, those that have waited first. */
    give: (by: RequestListener) => {
      listener = by
      for (const [request, response] of waiting) if (!response.destroyed) by(request, response)
      waiting = []
    },
    /** Each connection closes with its present answer. */
    makeLast: () => {
      last = true
      for (const response of underWay) response.shouldKeepAlive = false
    },
    allGiven: allGiven.await,
  }
}
