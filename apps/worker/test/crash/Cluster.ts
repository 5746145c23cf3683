/** The service as an operator runs it on PostgreSQL: one HTTP process and two workers, killable. */
import { assert } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { Data, Effect, Redacted, Ref, Schedule, Scope } from "effect"
import { programs } from "../programs.ts"

const operatorToken = "operator-token-of-the-crash-test"

export const members = ["server", "worker one", "worker two"] as const
export type Member = (typeof members)[number]

/** No answer, or one that says nothing about what was done: the request is to be repeated. */
class Unanswered extends Data.TaggedError("Unanswered")<{ readonly message: string }> {}

export interface Reply {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are read by tests, unchecked
  readonly body: any
}

export interface Cluster {
  readonly database: TestDatabase
  /** SIGKILL at once, whatever it is doing, and a new process in its place. */
  kill(member: Member): Effect.Effect<void>
  /** SIGKILL, and nothing in its place. */
  stop(member: Member): Effect.Effect<void>
  /** A new process in the place of one that was stopped. */
  start(member: Member): Effect.Effect<void>
  /** A request that is repeated until it is answered for good. */
  ask(method: string, path: string, options?: Ask): Effect.Effect<Reply>
  operate(method: string, path: string, body?: unknown): Effect.Effect<Reply>
  /** Moves service time on by so many seconds, more when the server dies under it. */
  advance(seconds: number): Effect.Effect<void>
  /** Returns once nothing is due and nothing is in flight. */
  readonly settle: Effect.Effect<void>
  /** The service's time, in epoch milliseconds. */
  readonly now: Effect.Effect<number>
  /** Waits until that member has said that it is ready. */
  ready(member: Member): Effect.Effect<unknown, processes.ProcessError>
  /** Waits until every member has. */
  readonly allReady: Effect.Effect<void, processes.ProcessError>
}

interface Ask {
  readonly token?: string
  readonly body?: unknown
  readonly idempotencyKey?: string
  /** Then it counts as unanswered. */
  readonly patienceMillis?: number
}

const attempt = (url: string, method: string, options: Ask) =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(url, {
        method,
        signal: AbortSignal.any([signal, AbortSignal.timeout(options.patienceMillis ?? 15_000)]),
        headers: {
          authorization: `Bearer ${options.token ?? ""}`,
          ...(options.body === undefined ? {} : { "content-type": "application/json" }),
          ...(options.idempotencyKey === undefined
            ? {}
            : { "idempotency-key": options.idempotencyKey }),
        },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      })
      return { status: response.status, body: await response.json() } as Reply
    },
    catch: (cause) => new Unanswered({ message: String(cause) }),
  }).pipe(
    Effect.flatMap((reply) =>
      reply.status >= 500 || reply.body?.error?.code === "idempotency_in_progress"
        ? Effect.fail(new Unanswered({ message: JSON.stringify(reply.body) }))
        : Effect.succeed<Reply>(reply),
    ),
  )

/** Starts the three on a new database; everything ends with the scope. */
export const startCluster = Effect.gen(function* () {
  const postgres = yield* EmbeddedPostgres
  const database = yield* postgres.createDatabase()
  const directory = yield* processes.temporaryDirectory
  const scope = yield* Effect.scope
  const shared = {
    DATABASE_URL: Redacted.value(database.url),
    DATA_DIR: directory,
    CLOCK: "adjustable",
    ALLOW_PRIVATE_TARGETS: "true",
    OPERATOR_TOKEN: operatorToken,
    LOG_LEVEL: "error",
    SEED_EXAMPLE: "false",
  }
  const port = yield* Ref.make("0")

  const startMember = (
    member: Member,
  ): Effect.Effect<processes.ServiceProcess, never, Scope.Scope> =>
    Effect.gen(function* () {
      return member === "server"
        ? yield* processes.start(programs.server, {
            ...shared,
            WORKER: "separate",
            PORT: yield* Ref.get(port),
          })
        : yield* processes.start(programs.worker, shared)
    })

  const running = new Map<Member, processes.ServiceProcess>()
  const stop = (member: Member) =>
    Effect.suspend(() => running.get(member)?.kill ?? Effect.void).pipe(Effect.orDie)
  const start = (member: Member) =>
    Effect.map(startMember(member), (process) => running.set(member, process)).pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.asVoid,
    )

  yield* Effect.forEach(members, start, { discard: true })

  const readyLine = (member: Member) =>
    member === "server" ? /listening on (\S+)/ : /worker ready/
  const ready = (member: Member) =>
    Effect.suspend(() => {
      const process = running.get(member)
      return process === undefined
        ? Effect.fail(new processes.ProcessError({ message: `${member} is not running` }))
        : process.says(readyLine(member))
    })
  const allReady = Effect.forEach(members, ready, { discard: true })

  yield* allReady
  const [, url = ""] = yield* ready("server")
  yield* Ref.set(port, new URL(url).port)

  const ask: Cluster["ask"] = (method, path, options = {}) =>
    attempt(`${url}${path}`, method, options).pipe(
      Effect.retry(Schedule.spaced("50 millis")),
      Effect.orDie,
    )

  const operate: Cluster["operate"] = (method, path, body) =>
    ask(method, path, { token: operatorToken, body })

  // What is to happen until the answer takes its time, and must not be asked for twice.
  const control = (method: string, path: string, body?: unknown) =>
    Effect.map(
      ask(method, `/admin/v1/simulator${path}`, {
        token: operatorToken,
        body,
        patienceMillis: 120_000,
      }),
      (reply) => {
        assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
        return reply.body
      },
    )

  const cluster: Cluster = {
    database,
    kill: (member) => Effect.andThen(stop(member), start(member)),
    stop,
    start,
    ask,
    ready,
    operate,
    advance: (seconds) => Effect.asVoid(control("POST", "/clock/advance", { seconds })),
    settle: Effect.asVoid(control("POST", "/settle")),
    now: Effect.map(control("GET", "/clock"), ({ now }) => Date.parse(now)),
    allReady,
  }
  return cluster
})
