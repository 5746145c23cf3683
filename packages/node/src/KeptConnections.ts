/**
 * Calls over connections that are kept between them. A connection is opened as for any other call,
 * its address checked, and does one call at a time; between two it waits in an idle list of its
 * origin, from which the other side may drop it at any moment.
 */
import { EgressError } from "@messaging-service/core"
import type { OutboundUrl, PostAnswer, PostLimits, PostRequest } from "@messaging-service/core"
import { Effect, Exit, Scope } from "effect"
import type { Socket } from "node:net"
import { Client } from "undici"
import type { Dispatcher } from "undici"
import { originOf } from "./GuardedConnection.ts"

/**
 * An idle connection is closed after this time, or when the other side announced to close it. Short:
 * a call that starts when the other side is just closing is lost.
 */
const idleMillis = 4000

/** Idle connections of all origins together; more are closed at once. */
const maximumIdle = 256

interface Connection {
  readonly client: Client
  readonly socket: Socket
  /** Closes the socket. */
  readonly scope: Scope.Closeable
}

/** How a call on one connection ended, apart from an answer. */
interface Broken {
  readonly error: EgressError
  /** The connection was gone before the call: nothing was sent. */
  readonly nothingSent: boolean
}

export interface KeptConnections {
  /**
   * Makes the call and tells the answer as soon as its head is in; returns when its content has come
   * to an end, or is longer than the limit.
   */
  call(
    url: OutboundUrl,
    request: PostRequest,
    maximumBytes: PostLimits["maximumBytes"],
    connect: Effect.Effect<Socket, EgressError, Scope.Scope>,
    onAnswer: (answer: PostAnswer) => void,
  ): Effect.Effect<void, EgressError>
}

/** All kept connections close with the scope. */
export const keptConnections: Effect.Effect<KeptConnections, never, Scope.Scope> =
  Effect.acquireRelease(
    Effect.sync(() => new Map<string, Array<Connection>>()),
    (idle) =>
      Effect.forEach([...idle.values()].flat(), close, { concurrency: "unbounded", discard: true }),
  ).pipe(Effect.map((idle) => ({ call: callOver(idle) })))

const callOver = (idle: Map<string, Array<Connection>>): KeptConnections["call"] => {
  let idleCount = 0

  const take = (origin: string): Connection | undefined => {
    const connections = idle.get(origin)
    const latest = connections?.pop()
    if (latest !== undefined) idleCount--
    if (connections?.length === 0) idle.delete(origin)
    return latest
  }

  const forget = (origin: string, connection: Connection): void => {
    const connections = idle.get(origin)
    const at = connections?.indexOf(connection) ?? -1
    if (connections === undefined || at === -1) return
    connections.splice(at, 1)
    idleCount--
    if (connections.length === 0) idle.delete(origin)
  }

  const keep = (origin: string, connection: Connection): boolean => {
    if (idleCount >= maximumIdle || connection.socket.destroyed) return false
    const connections = idle.get(origin) ?? []
    idle.set(origin, connections)
    connections.push(connection)
    idleCount++
    return true
  }

  const open = (
    origin: string,
    connect: Effect.Effect<Socket, EgressError, Scope.Scope>,
  ): Effect.Effect<Connection, EgressError> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const socket = yield* restore(Scope.provide(connect, scope)).pipe(
          Effect.onError(() => Scope.close(scope, Exit.void)),
        )
        const connection = { client: clientOver(origin, socket), socket, scope }
        socket.once("close", () => forget(origin, connection))
        return connection
      }),
    )

  /** One call on a connection, which is then kept if it may be. */
  const use = (
    origin: string,
    connection: Connection,
    path: string,
    request: PostRequest,
    maximumBytes: number,
    onAnswer: (answer: PostAnswer) => void,
  ): Effect.Effect<void, Broken> =>
    Effect.onExit(exchange(connection, path, request, maximumBytes, onAnswer), (exit) =>
      Exit.isSuccess(exit) && exit.value.reusable && keep(origin, connection)
        ? Effect.void
        : close(connection),
    ).pipe(Effect.asVoid)

  return (url, request, maximumBytes, connect, onAnswer) =>
    Effect.gen(function* () {
      const origin = originOf(url)
      const path = `${url.pathname}${url.search}`
      const onFresh = Effect.flatMap(open(origin, connect), (connection) =>
        use(origin, connection, path, request, maximumBytes, onAnswer).pipe(
          Effect.mapError(({ error }) => error),
        ),
      )
      const waiting = take(origin)
      if (waiting === undefined) return yield* onFresh
      return yield* use(origin, waiting, path, request, maximumBytes, onAnswer).pipe(
        Effect.catch(({ error, nothingSent }) => (nothingSent ? onFresh : Effect.fail(error))),
      )
    })
}

const close = ({ client, scope }: Connection): Effect.Effect<void> =>
  Effect.andThen(
    Effect.promise(() => client.destroy()),
    Scope.close(scope, Exit.void),
  )

/** A client over that one socket. When it is gone the client is of no more use. */
const clientOver = (origin: string, socket: Socket): Client => {
  let handedOut = false
  return new Client(origin, {
    // The deadline of the whole call governs, on a clock that may not be the system's.
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    keepAliveTimeout: idleMillis,
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

const exchange = (
  { client }: Connection,
  path: string,
  request: PostRequest,
  maximumBytes: number,
  onAnswer: (answer: PostAnswer) => void,
): Effect.Effect<{ readonly reusable: boolean }, Broken> =>
  Effect.callback((resume) => {
    let answered = false
    let received = 0
    let running: Dispatcher.DispatchController | undefined
    client.dispatch(
      { method: "POST", path, headers: request.headers, body: request.body, idempotent: false },
      {
        onRequestStart: (controller) => {
          running = controller
        },
        onResponseStart: (controller, status, headers) => {
          // "103 Early Hints" and its like are not the answer.
          if (status < 200) return
          answered = true
          onAnswer({ status, headers: plainHeaders(headers) })
          if (Number(headers["content-length"] ?? 0) > maximumBytes) controller.abort(enough)
        },
        onResponseData: (controller, chunk) => {
          received += chunk.length
          if (received > maximumBytes) controller.abort(enough)
        },
        onResponseEnd: () => resume(Effect.succeed({ reusable: true })),
        onResponseError: (_controller, cause) => {
          // The status is known, and that is what was asked for.
          if (answered) return resume(Effect.succeed({ reusable: false }))
          return resume(
            Effect.fail({
              error: new EgressError({ reason: "connection", cause }),
              nothingSent: cause === gone,
            }),
          )
        },
      },
    )
    return Effect.sync(() => running?.abort(enough))
  })

const gone = new Error("the connection broke")

const enough = new Error("no more is read")

/** Header names of undici's are in lower case. */
export const plainHeaders = (
  headers: Dispatcher.ResponseData["headers"],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  )
