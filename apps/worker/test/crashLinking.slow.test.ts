/**
 * Linking a number through separate processes that die meanwhile (contract: Number status): another
 * worker continues with fresh codes. A code that no phone scans leads to disconnection after ten
 * minutes, and a new attempt is possible. A Telegram login continues where it died.
 */
import { assert, it } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { TelegramServer } from "@messaging-service/telegram-server"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Fiber, Layer } from "effect"
import { aSender } from "./crash/Clients.ts"
import type { Sender } from "./crash/Clients.ts"
import { startCluster } from "./crash/Cluster.ts"
import type { Cluster, PostgresCluster, Reply } from "./crash/Cluster.ts"
import { withDatabase } from "./crash/books.ts"
import { clusterTest } from "./crash/Storm.ts"
import { RemoteServer, layerTelegram } from "./live/remoteServers.ts"

const methods = ["qr", "phone_code"] as const
type Method = (typeof methods)[number]

const workers = ["worker one", "worker two"] as const

/** Longer than the lease of an attempt's holder, in seconds. */
const leaseOver = 31

/** Longer than an attempt, in seconds. */
const attemptOver = 601

const toPhone = (n: number) => `+1555020${String(n).padStart(4, "0")}`

let iteration = 0
let named = 0

/** Sequential, since each has so many requests a minute. */
const nextKey = ({ keys }: Sender) => keys[iteration++ % keys.length]!

const connect = (cluster: Cluster, sender: Sender, body: Readonly<Record<string, unknown>>) =>
  cluster.request("POST", "/api/v2/numbers", {
    token: nextKey(sender),
    idempotencyKey: `connect ${named++}`,
    body,
  })

const read = (cluster: Cluster, sender: Sender, id: number) =>
  Effect.map(
    cluster.request("GET", `/api/v2/numbers/${id}`, { token: nextKey(sender) }),
    ({ body }) => body,
  )

const scan = (cluster: Cluster, id: number, phone: string): Effect.Effect<Reply> =>
  cluster.operate("POST", `/admin/v1/simulator/numbers/${id}/scan`, { phone })

/** Waits until the number shows another code, and returns it. */
const codeShown = (cluster: PostgresCluster, id: number, old: string | null = null) =>
  withDatabase(cluster)(
    processes.waitUntil(
      `number ${id} shows a code`,
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const [row] = yield* sql<{ readonly code: string | null }>`
          select coalesce(qr_text, pairing_code) as code
          from linking_attempts
          where number_id = ${id}`
        const code = row?.code ?? null
        return code === null || code === old ? undefined : code
      }),
    ),
  )

/** The workers die, and one replaces them. */
const replaceWorkers = (cluster: Cluster) =>
  Effect.gen(function* () {
    yield* Effect.forEach(workers, cluster.stop, { discard: true })
    yield* cluster.start("worker one")
    yield* cluster.ready("worker one")
  })

const checkConnected = (cluster: Cluster, sender: Sender, id: number, phone: string) =>
  Effect.gen(function* () {
    const { body, status } = yield* scan(cluster, id, phone)
    assert.strictEqual(status, 200, JSON.stringify(body))
    assert.deepInclude(yield* read(cluster, sender, id), {
      phone: phone.slice(1),
      status: "connected",
      connect: null,
    })
  })

const requestFor = (method: Method, phone: string) =>
  method === "qr" ? { login_method: method } : { login_method: method, phone }

clusterTest(
  "another worker continues after a death; an unused attempt ends, and can start again",
  (cluster) =>
    Effect.gen(function* () {
      const sender = yield* aSender(cluster)
      const began = yield* Effect.forEach(["taken", "left"], (fate, round) =>
        Effect.forEach(methods, (method, index) =>
          Effect.gen(function* () {
            const phone = toPhone(2 * round + index)
            const { body } = yield* connect(cluster, sender, requestFor(method, phone))
            const id: number = body.id
            return { fate, method, phone, id, code: yield* codeShown(cluster, id) }
          }),
        ),
      )
      const numbers = began.flat()

      yield* replaceWorkers(cluster)
      yield* cluster.advance(leaseOver)
      for (const { code, id, method } of numbers) {
        yield* codeShown(cluster, id, code)
        const visible = yield* read(cluster, sender, id)
        assert.strictEqual(visible.status, "connecting")
        assert.isString(visible.connect[method === "qr" ? "qr_code_url" : "pairing_code"])
      }
      for (const { fate, id, phone } of numbers) {
        if (fate === "taken") yield* checkConnected(cluster, sender, id, phone)
      }

      yield* replaceWorkers(cluster)
      yield* cluster.advance(attemptOver)
      for (const { fate, id, method, phone } of numbers) {
        if (fate === "taken") continue
        const ended = yield* read(cluster, sender, id)
        assert.deepInclude(ended, { status: "disconnected", connect: null })
        assert.strictEqual((yield* scan(cluster, id, phone)).body.error.code, "not_connecting")

        const request = { ...requestFor(method, phone), number_id: id }
        const again = yield* connect(cluster, sender, request)
        assert.deepInclude(again.body, { id, status: "connecting" })
        yield* codeShown(cluster, id)
        yield* checkConnected(cluster, sender, id, phone)
      }
    }),
)

/** Longer than one process may keep a step of a login, in milliseconds. */
const stepOver = 61_000

it.live("a Telegram login continues after its process was killed in each step", () =>
  Effect.gen(function* () {
    const remote = yield* TelegramServer
    const { settings } = yield* RemoteServer
    const cluster = yield* startCluster({
      TRANSPORT: "live",
      ...(yield* settings(yield* processes.temporaryDirectory)),
    })
    const request = (method: string, path: string, body?: unknown) =>
      Effect.map(cluster.operate(method, `/admin/v1${path}`, body), (answer) => answer.body)
    const phone = "4915100000001"
    const password = { password: "correct horse" }
    yield* remote.person(phone, password)
    const { aNumber, aWorkspace } = cluster.builders
    const account = { platform: "telegram", phone: `+${phone}`, status: "disconnected" }
    const { id } = yield* aNumber(yield* aWorkspace(), account)
    const login = `/workspaces/1/numbers/${id}/telegram-login`
    yield* request("POST", login, { method: "code", phone: `+${phone}` })

    /** The remote server lets the account in a step further, and its process dies before it learns of it. */
    const dieIn = (method: string, step: string, body: object, isClaimed: () => boolean) =>
      Effect.gen(function* () {
        yield* remote.nextCall({ method, outcome: "withhold" })
        const requesting = yield* Effect.forkScoped(request("POST", `${login}/${step}`, body))
        yield* remote.until(isClaimed)
        yield* cluster.stop("server")
        yield* Fiber.interrupt(requesting)
        yield* cluster.outlive(stepOver)
        yield* cluster.start("server")
      })

    const code = { code: "12345" }
    yield* dieIn("auth.signIn", "code", code, () => remote.codesSent(phone) === 0)
    assert.strictEqual((yield* request("GET", login)).state, "code_sent")
    const requested = yield* request("POST", `${login}/code`, code)
    assert.deepInclude(requested, { state: "password_needed", error: null })

    yield* dieIn(
      "auth.checkPassword",
      "password",
      password,
      () => remote.sessions(phone).keys === 1,
    )
    assert.strictEqual((yield* request("GET", login)).state, "password_needed")
    const done = yield* request("POST", `${login}/password`, password)
    assert.deepInclude(done, { state: "connected", error: null })
    yield* remote.until(() => remote.sessions(phone).open === 1)
    assert.deepInclude(remote.sessions(phone), { keys: 1, open: 1, max: 1 })
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.fresh(Layer.merge(layerTelegram, EmbeddedPostgres.layer()))),
  ),
)
