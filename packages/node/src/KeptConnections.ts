/**
 * Posts over connections that are kept between them. A connection is opened as for any other call,
 * its address checked, and does one call at a time; between two it waits in an idle list of its
 * origin, from which the other side may drop it at any moment. How long and how many may wait is ours
 * to say: an answer's `Keep-Alive` can shorten the time, not prolong it.
 *
 * A call on a kept connection is one effect and one object, because there are thousands in a second.
 *
 * Not undici's own `Agent`: it chooses the connection and opens new ones by itself, so that the shares
 * that workspaces have of what waits and of look-ups would take clients of ours inside it, which are
 * most of this file. Speed is no reason: its rate was 1.00 and 0.92 of this pool's (the row `agent` of
 * apps/bench, medians of 5 rounds between 0.80 and 1.12 on a quiet machine).
 */
import { EgressError, makeRefusingPlaces, sharedResources } from "@messaging-service/core"
import type { PostAnswer, PostLimits, PostRequest, WorkspaceId } from "@messaging-service/core"
import { Effect, Exit, Scope } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import type { Socket } from "node:net"
import { Client } from "undici"
import type { Dispatcher } from "undici"

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
export interface PostTarget {
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

/** Makes the post; `connect` opens a connection to the origin where none is kept. */
export type PostOverKept = (
  target: PostTarget,
  request: PostRequest,
  limits: PostLimits,
  connect: Effect.Effect<Socket, EgressError, Scope.Scope>,
) => Effect.Effect<PostAnswer, EgressError>

/** All kept connections close with the scope. */
export const postOverKept = (
  idleMillis: number = defaultIdleMillis,
): Effect.Effect<PostOverKept, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new IdleConnections(idleMillis)),
      (idle) => Effect.forEach(idle.all(), close, { concurrency: "unbounded", discard: true }),
    ),
    (idle): PostOverKept =>
      (target, request, limits, connect) =>
        Effect.callback((resume) => {
          const deadline = performance.now() + limits.timeoutMillis
          const post: Post = { target, request, limits, deadline }
          const onFresh = Effect.suspend(() =>
            Effect.flatMap(open(idle, target.origin, request.workspaceId, connect), (connection) =>
              Effect.callback<PostAnswer, EgressError>((answer) =>
                new CallOnKeptConnection(idle, connection, post, lost, answer).start(),
              ),
            ),
          )
          const waiting = idle.take(target.origin)
          if (waiting === undefined) return resume(onFresh)
          return new CallOnKeptConnection(idle, waiting, post, onFresh, resume).start()
        }),
  )

class IdleConnections {
  readonly idleMillis: number
  readonly #byOrigin = new Map<string, Array<Connection>>()
  readonly #places = makeRefusingPlaces<WorkspaceId>(sharedResources.keptConnections)

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
    if (connection.socket.destroyed || !this.#places.take()) return false
    if (!this.#places.takeShare(connection.lastFor)) {
      this.#places.giveBack()
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
    this.#places.giveBack()
    this.#places.giveBackShare(lastFor)
  }

  all(): ReadonlyArray<Connection> {
    return [...this.#byOrigin.values()].flat()
  }
}

const open = (
  idle: IdleConnections,
  origin: string,
  workspaceId: WorkspaceId,
  connect: Effect.Effect<Socket, EgressError, Scope.Scope>,
): Effect.Effect<Connection, EgressError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const socket = yield* restore(Scope.provide(connect, scope)).pipe(
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
 * One call on a connection, which is kept afterwards if it can be. The status is what was asked for:
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
