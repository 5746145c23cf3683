/**
 * The service as an operator runs it, killable: one HTTP process and two workers on PostgreSQL, or one
 * process that does everything on the embedded database.
 */
import { assert } from "@effect/vitest"
import { layerPglite } from "@messaging-service/store-postgres"
import { EmbeddedPostgres, processes, putDataDirectory } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { http } from "@messaging-service/testkit/world"
import { Data, Effect, Redacted, Ref, Schedule, Scope } from "effect"
import { join, resolve } from "node:path"
import { programs } from "../programs.ts"
import { passTime, withDatabase } from "./books.ts"
import { Store } from "@messaging-service/core"

/** It has the embedded database among its dependencies. */
const storePackage = resolve(
  import.meta.dirname,
  "../../../../packages/store-postgres/package.json",
)

const operatorToken = "operator-token-of-the-crash-test"

export type Member = "server" | "worker one" | "worker two"

/** No response since the server died, or one that leaves the outcome open: repeat the request. */
class Unanswered extends Data.TaggedError("Unanswered")<{ readonly message: string }> {}

export interface Reply {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are read by tests, unchecked
  readonly body: any
}

export interface Cluster {
  readonly members: ReadonlyArray<Member>
  /** The processes that send. */
  readonly workers: ReadonlyArray<Member>
  /** Sends SIGKILL at once, and starts a new process in its place. */
  kill(member: Member): Effect.Effect<void>
  /** Sends SIGKILL, and starts no replacement. */
  stop(member: Member): Effect.Effect<void>
  /** Starts a new process in the place of a stopped one. */
  start(member: Member): Effect.Effect<void>
  /** Repeats a request until it gets a final response. */
  request(method: string, path: string, options?: Requester): Effect.Effect<Reply>
  operate(
    method: string,
    path: string,
    body?: unknown,
    idempotencyKey?: string,
  ): Effect.Effect<Reply>
  /** They make records through the operator API. */
  readonly builders: ReturnType<typeof http.buildersWith<never, never>>
  /** Advances service time by that many seconds, or more when the server dies meanwhile. */
  advance(seconds: number): Effect.Effect<void>
  /** Returns once nothing is due and nothing is in flight. */
  readonly settle: Effect.Effect<void>
  /** The service's time, in epoch milliseconds. */
  readonly now: Effect.Effect<number>
  /** The current process of that member. */
  running(member: Member): Effect.Effect<processes.ServiceProcess, processes.ProcessError>
  /** Waits until that member has reported that it is ready. */
  ready(member: Member): Effect.Effect<unknown, processes.ProcessError>
  /** Waits until every member has. */
  readonly allReady: Effect.Effect<void, processes.ProcessError>
  /**
   * Advances the stored clock by that many milliseconds behind the service's back; its workers must be
   * stopped.
   */
  outlive(millis: number): Effect.Effect<void>
}

/** A cluster with a database that a test can read. */
export interface PostgresCluster extends Cluster {
  readonly database: TestDatabase
}

interface Requester {
  readonly token?: string
  readonly body?: unknown
  /** An upload, instead of a body. */
  readonly form?: FormData
  readonly idempotencyKey?: string
}

/** Answers that a caller retries; includes limits, since the clock that they use may not advance. */
const isPutOff = ({ body, status }: Reply): boolean =>
  status >= 500 || ["idempotency_in_progress", "rate_limited"].includes(body?.error?.code)

const attempt = (url: string, method: string, options: Requester) =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(url, {
        method,
        signal,
        headers: {
          authorization: `Bearer ${options.token ?? ""}`,
          ...(options.body === undefined ? {} : { "content-type": "application/json" }),
          ...(options.idempotencyKey === undefined
            ? {}
            : { "idempotency-key": options.idempotencyKey }),
        },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        ...(options.form === undefined ? {} : { body: options.form }),
      })
      return { status: response.status, body: await response.json() } as Reply
    },
    catch: (cause) => new Unanswered({ message: String(cause) }),
  }).pipe(
    Effect.flatMap((reply) =>
      isPutOff(reply)
        ? Effect.fail(new Unanswered({ message: JSON.stringify(reply.body) }))
        : Effect.succeed<Reply>(reply),
    ),
  )

/** Additional settings of a service. */
export type Settings = Readonly<Record<string, string>>

/** Settings of single members, added to the shared ones. */
type OwnSettings = Partial<Readonly<Record<Member, Settings>>>

interface Plan extends Pick<Cluster, "members" | "workers" | "outlive"> {
  readonly settings: Settings
  readonly own?: OwnSettings
}

const startMembers = Effect.fnUntraced(function* ({
  members,
  outlive,
  own = {},
  settings,
  workers,
}: Plan) {
  const scope = yield* Effect.scope
  const shared = {
    CLOCK: "adjustable",
    ALLOW_PRIVATE_TARGETS: "true",
    OPERATOR_TOKEN: operatorToken,
    LOG_LEVEL: "error",
    SEED_EXAMPLE: "false",
    ...settings,
  }
  const port = yield* Ref.make("0")

  const startMember = (
    member: Member,
  ): Effect.Effect<processes.ServiceProcess, never, Scope.Scope> =>
    Effect.gen(function* () {
      const set = { ...shared, ...own[member] }
      return member === "server"
        ? yield* processes.start(programs.server, { ...set, PORT: yield* Ref.get(port) })
        : yield* processes.start(programs.worker, set)
    })

  const started = new Map<Member, processes.ServiceProcess>()
  const running = (member: Member) =>
    Effect.suspend(() => {
      const process = started.get(member)
      return process === undefined
        ? Effect.fail(new processes.ProcessError({ message: `${member} is not running` }))
        : Effect.succeed(process)
    })
  const stop = (member: Member) =>
    Effect.flatMap(running(member), ({ kill }) => kill).pipe(Effect.orDie, Effect.asVoid)
  const start = (member: Member) =>
    Effect.map(startMember(member), (process) => started.set(member, process)).pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.asVoid,
    )

  yield* Effect.forEach(members, start, { discard: true })

  const readyLine = (member: Member) =>
    member === "server" ? /listening on (\S+)/ : /worker ready/
  const ready = (member: Member) =>
    Effect.flatMap(running(member), ({ awaitOutput }) => awaitOutput(readyLine(member)))
  const allReady = Effect.forEach(members, ready, { discard: true })

  yield* allReady
  const [, url = ""] = yield* ready("server")
  yield* Ref.set(port, new URL(url).port)

  const request: Cluster["request"] = (method, path, options = {}) =>
    attempt(`${url}${path}`, method, options).pipe(
      Effect.retry(Schedule.spaced("50 millis")),
      Effect.orDie,
    )

  const operate: Cluster["operate"] = (method, path, body, idempotencyKey) =>
    request(method, path, {
      token: operatorToken,
      body,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    })

  const control = (method: string, path: string, body?: unknown) =>
    Effect.map(operate(method, `/admin/v1/simulator${path}`, body), (reply) => {
      assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
      return reply.body
    })

  const cluster: Cluster = {
    members,
    workers,
    outlive,
    kill: (member) => Effect.andThen(stop(member), start(member)),
    stop,
    start,
    request,
    running,
    ready,
    operate,
    builders: http.buildersWith(<Body>(path: string, json: unknown) =>
      Effect.map(operate("POST", `/admin/v1${path}`, json), ({ body, status }) => {
        assert.strictEqual(status, 201, JSON.stringify(body))
        return body as Body
      }),
    ),
    advance: (seconds) => Effect.asVoid(control("POST", "/clock/advance", { seconds })),
    settle: Effect.asVoid(control("POST", "/settle")),
    now: Effect.map(control("GET", "/clock"), ({ now }) => Date.parse(now)),
    allReady,
  }
  return cluster
})

/** Starts the three on a new PostgreSQL; everything ends with the scope. */
export const startCluster = Effect.fnUntraced(function* (settings: Settings = {}) {
  return yield* startClusterOn(yield* (yield* EmbeddedPostgres).createDatabase(), settings)
})

/** The same on that database. */
export const startClusterOn = Effect.fnUntraced(function* (
  database: TestDatabase,
  settings: Settings,
  own: OwnSettings = {},
) {
  const cluster = yield* startMembers({
    members: ["server", "worker one", "worker two"],
    workers: ["worker one", "worker two"],
    settings: {
      DATABASE_URL: Redacted.value(database.url),
      DATA_DIR: yield* processes.temporaryDirectory,
      WORKER: "separate",
      ...settings,
    },
    own,
    outlive: (millis) =>
      withDatabase({ database })(passTime(millis)).pipe(Effect.asVoid, Effect.orDie),
  })
  const started: PostgresCluster = { ...cluster, database }
  return started
})

/** Starts one process on a new embedded database; it ends with the scope. */
export const startAlone = Effect.fnUntraced(function* (settings: Settings = {}) {
  const directory = join(yield* processes.temporaryDirectory, "data")
  // Creating a database takes seconds, and these tests do not need that.
  yield* putDataDirectory(storePackage, directory)
  const cluster: Cluster = yield* startMembers({
    members: ["server"],
    workers: ["server"],
    settings: { DATA_DIR: directory, ...settings },
    outlive: (millis) =>
      Effect.gen(function* () {
        const clock = (yield* Store).system
        yield* clock.raiseClockOffset((yield* clock.clockOffset) + millis)
      }).pipe(Effect.provide(layerPglite({ dataDir: join(directory, "db") })), Effect.orDie),
  })
  return cluster
})
