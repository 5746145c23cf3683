/**
 * Messages during a fail-over of PostgreSQL, or after a restore from a backup, judged outside the
 * database: by the recipient's phone and the callers' acknowledgements.
 */
import { assert, describe, it } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import type { PostgresCluster } from "@messaging-service/testkit"
import { Clock, Effect, Fiber, Ref, Schedule } from "effect"
import type { Scope } from "effect"
import { connect, createServer } from "node:net"
import type { Socket } from "node:net"
import { join } from "node:path"
import { layerWhatsApp, RemoteServer, recipient } from "./live/remoteServers.ts"
import type { LiveNumber } from "./live/remoteServers.ts"
import { programs } from "./programs.ts"

const operatorToken = "operator-token-of-the-fail-over-drill"

/** An address that leads to one server, and then to another. */
const anAddress = (path: string) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly port: number
      leadTo: (path: string) => void
      readonly close: () => void
    }>((resume) => {
      let to = path
      const sockets = new Set<Socket>()
      const end = () => {
        for (const socket of sockets) socket.destroy()
      }
      const server = createServer((near) => {
        const remote = connect(to)
        near.pipe(remote)
        remote.pipe(near)
        for (const [one, other] of [
          [near, remote],
          [remote, near],
        ] as const) {
          sockets.add(one)
          one.on("error", () => undefined)
          one.on("close", () => {
            sockets.delete(one)
            other.destroy()
          })
        }
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(
          Effect.succeed({
            port: typeof address === "object" && address !== null ? address.port : 0,
            leadTo: (path_: string) => {
              to = path_
              end()
            },
            close: () => {
              server.close()
              end()
            },
          }),
        )
      })
    }),
    ({ close }) => Effect.sync(close),
  )

const unpaced = {
  pacing: { min_interval_ms: null, jitter_ms: null, per_minute: null, per_hour: null },
}

/** The service on that cluster, with a linked number. */
const aLiveService = Effect.gen(function* () {
  const remote = yield* RemoteServer
  const primary = yield* EmbeddedPostgres
  const database = yield* primary.createDatabase()
  const address = yield* anAddress(database.path)
  const directory = yield* processes.temporaryDirectory
  const settings = {
    DATABASE_URL: `postgres://postgres@127.0.0.1:${address.port}/${database.database}`,
    DATA_DIR: join(directory, "data"),
    OPERATOR_TOKEN: operatorToken,
    TRANSPORT: "live",
    PORT: "0",
    ...(yield* remote.settings(directory)),
  }
  const start = processes.startServer(programs.server, settings)
  const first = yield* start
  const { aKey, aWorkspace, request } = processes.anOperator(first.url, operatorToken)
  const workspace = yield* aWorkspace()
  const keys = yield* Effect.forEach([1, 2, 3, 4, 5], () =>
    Effect.map(aKey(workspace), ({ key }) => key),
  )
  const phone = "4915100000001"
  const [token = ""] = keys
  const id = yield* remote.connect({ url: first.url, token, request }, phone)
  const number: LiveNumber = { id, phone }
  yield* request("PATCH", `/workspaces/1/numbers/${id}`, unpaced)
  return { address, database, remote, first, keys, number, primary, settings, start }
})

type LiveService = Effect.Success<typeof aLiveService>

interface Acknowledged {
  readonly id: number
  readonly text: string
}

/**
 * Sends until stopped, one text after the other with each of the keys; returns the acknowledged
 * ones. A request without a 202 is given up: its outcome is unknown.
 */
const callers = Effect.fnUntraced(function* (
  { keys, number }: LiveService,
  url: string,
  name: string,
) {
  const acknowledged: Array<Acknowledged> = []
  const goesOn = yield* Ref.make(true)
  const one = (key: string, caller: number) =>
    Effect.gen(function* () {
      for (let count = 0; yield* Ref.get(goesOn); count++) {
        const text = `${name} ${caller}.${count}`
        const answer = yield* processes
          .aCaller(url, key)
          .send(text, { from: number.id, to: { phone: `+${recipient}` } })
          .pipe(
            Effect.timeout("10 seconds"),
            Effect.catch(() => Effect.succeed(null)),
          )
        if (answer?.status === 202) acknowledged.push({ id: answer.body.id, text })
        // 60 requests a minute with a key.
        yield* Effect.sleep("600 millis")
      }
    })
  const running = yield* Effect.forkScoped(
    Effect.forEach(keys.slice(1), one, { concurrency: "unbounded", discard: true }),
  )
  return {
    acknowledged,
    stop: Effect.andThen(Ref.set(goesOn, false), Fiber.await(running)),
  }
})

const until = (what: string, condition: () => boolean) =>
  processes.waitUntil(
    what,
    Effect.sync(() => (condition() ? true : undefined)),
    Schedule.spaced(200),
  )

const untilVisible = ({ remote }: LiveService, texts: ReadonlyArray<string>) =>
  until("all are shown", () => {
    const shown = new Set(remote.displayed())
    return texts.every((text) => shown.has(text))
  })

const getTexts = (all: ReadonlyArray<Acknowledged>) => all.map(({ text }) => text)

const assertOnce = (texts: ReadonlyArray<string | number>, what: string) =>
  assert.deepStrictEqual(
    texts.filter((text, index) => texts.indexOf(text) !== index),
    [],
    what,
  )

const toIds = (all: ReadonlyArray<Acknowledged>) => all.map(({ id }) => id)

/** Everything held in the workspace. */
const readHeld = (url: string) =>
  Effect.map(
    processes
      .anOperator(url, operatorToken)
      .request<{ readonly data: ReadonlyArray<Acknowledged> }>(
        "GET",
        "/workspaces/1/held?limit=100",
      ),
    ({ body }) => body.data,
  )

/** Waits until the standby has everything that the primary has. */
const untilCaughtUp = (primary: PostgresCluster, standby: PostgresCluster) =>
  processes.waitUntil(
    "the standby has caught up",
    Effect.gen(function* () {
      const there = yield* primary.administer("select pg_current_wal_lsn()::text")
      const behind = yield* standby.administer(
        `select pg_last_wal_replay_lsn() < '${String(there)}'::pg_lsn`,
      )
      return behind === false ? true : undefined
    }),
    Schedule.spaced(200),
  )

const failOver = ({ address, primary }: LiveService, standby: PostgresCluster) =>
  Effect.gen(function* () {
    yield* primary.crash
    yield* standby.administer("select pg_promote()")
    address.leadTo(standby.path)
  })

const cluster = EmbeddedPostgres.layer({ settings: { synchronous_commit: "on" } })

const drill = <E>(test: (service: LiveService) => Effect.Effect<void, E, Scope.Scope>) =>
  Effect.flatMap(aLiveService, test).pipe(
    Effect.scoped,
    Effect.provide([layerWhatsApp, cluster]),
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
  )

describe("a fail-over under load", () => {
  it.live("to a synchronous standby loses nothing, and shows nothing twice", () =>
    drill((service) =>
      Effect.gen(function* () {
        const { remote, first, primary } = service
        const standby = yield* primary.standby
        yield* primary.administer(
          "alter system set synchronous_standby_names = '*'",
          "select pg_reload_conf()",
        )
        yield* untilCaughtUp(primary, standby)
        const load = yield* callers(service, first.url, "sync")
        yield* until("the load is on", () => remote.displayed().length >= 10)
        yield* failOver(service, standby)
        const before = load.acknowledged.length
        yield* until("callers are acknowledged again", () => load.acknowledged.length > before + 10)
        yield* load.stop
        yield* untilVisible(service, getTexts(load.acknowledged))
        assertOnce(remote.displayed(), "shown twice")
        assertOnce(
          load.acknowledged.map(({ id }) => id),
          "ids given out twice",
        )
        assert.deepStrictEqual(remote.complaints(), [])
      }),
    ),
  )

  it.live("to a lagging standby stops the process, and `restored` holds what may have left", () =>
    drill((service) =>
      Effect.gen(function* () {
        const { remote, first, primary } = service
        const { request } = processes.anOperator(first.url, operatorToken)
        const standby = yield* primary.standby
        yield* untilCaughtUp(primary, standby)
        const load = yield* callers(service, first.url, "async")
        yield* until("the load is on", () => remote.displayed().length >= 10)
        // Acknowledgements from here on are not on the standby. A frozen one would find them in its socket.
        yield* standby.stop
        const kept = load.acknowledged.length
        yield* until("callers are acknowledged", () => load.acknowledged.length > kept + 8)
        yield* primary.crash
        yield* standby.start
        yield* failOver(service, standby)
        yield* processes.waitUntil(
          "the process has stopped working",
          Effect.map(processes.call("GET", `${first.url}/health/ready`), ({ status }) =>
            status === 503 ? true : undefined,
          ),
          Schedule.spaced(100),
        )
        const metrics = yield* Effect.promise(async () =>
          (await fetch(`${first.url}/metrics`)).text(),
        )
        assert.include(metrics, 'messaging_not_ready{reason="store_behind"} 1')
        const before = { acknowledged: load.acknowledged.length, arrivals: remote.arrivals() }
        // Several checks, and as many chances to claim.
        yield* Effect.sleep("6 seconds")
        assert.deepStrictEqual(
          { acknowledged: load.acknowledged.length, arrivals: remote.arrivals() },
          before,
        )

        const above = Math.max(...load.acknowledged.map(({ id }) => id))
        const { body: started } = yield* request<{ readonly epoch: number; readonly held: number }>(
          "POST",
          "/store/restored",
          { above },
        )
        assert.strictEqual(started.epoch, 2)
        yield* until(
          "callers are acknowledged again",
          () => load.acknowledged.length > before.acknowledged + 10,
        )
        yield* load.stop
        yield* untilVisible(service, getTexts(load.acknowledged.slice(before.acknowledged)))
        assert.isAbove(Math.min(...toIds(load.acknowledged.slice(before.acknowledged))), above)

        // The operator's evidence: what the phone shows had left.
        const held = yield* readHeld(first.url)
        assert.lengthOf(held, started.held)
        const shown = new Set(remote.displayed())
        const [left, waits] = [true, false].map((isVisible) =>
          held.filter(({ text }) => shown.has(text) === isVisible),
        )
        for (const [what, messages = []] of [
          ["cancel", left],
          ["release", waits],
        ] as const) {
          if (messages.length === 0) continue
          const ids = messages.map(({ id }) => id)
          yield* request("POST", `/workspaces/1/held/${what}`, { ids })
        }
        yield* untilVisible(
          service,
          (waits ?? []).map(({ text }) => text),
        )
        assertOnce(remote.displayed(), "shown twice")
        assertOnce(toIds(load.acknowledged), "ids given out twice")
        // Nothing on the standby is lost: only later acknowledgements are missing.
        const lost = load.acknowledged.filter(({ text }) => !remote.displayed().includes(text))
        assert.isTrue(lost.every((one) => load.acknowledged.indexOf(one) >= kept))
        assert.deepStrictEqual(remote.complaints(), [])
      }),
    ),
  )
})

describe("a restore from a backup", () => {
  it.live("sends nothing again, reuses no id, and cancels what had left", () =>
    drill((service) =>
      Effect.gen(function* () {
        const { remote, first, keys, number, primary, settings, start } = service
        const [key = ""] = keys
        const sendFive = (url: string, name: string) =>
          Effect.forEach([1, 2, 3, 4, 5], (index) =>
            Effect.map(
              processes
                .aCaller(url, key)
                .send(`${name} ${index}`, { from: number.id, to: { phone: `+${recipient}` } }),
              ({ body, status }) => {
                assert.strictEqual(status, 202)
                return { id: body.id, text: `${name} ${index}` }
              },
            ),
          )
        const own = `/workspaces/1/numbers/${number.id}`
        const { request } = processes.anOperator(first.url, operatorToken)
        yield* request("POST", `${own}/pause`)
        const waiting = yield* sendFive(first.url, "in the backup")
        const backup = yield* primary.backup
        yield* request("POST", `${own}/resume`)
        const after = yield* sendFive(first.url, "after the backup")
        yield* untilVisible(service, getTexts([...waiting, ...after]))
        const arrivals = remote.arrivals()

        yield* first.stop
        yield* primary.stop
        yield* primary.restore(backup)
        yield* primary.start
        const command = yield* processes.start(programs.server, settings, ["restored"])
        const said = yield* command.ended
        assert.deepStrictEqual([said.code, said.stdout.trim()], [0, "epoch 2 has begun; 5 held"])

        const second = yield* start
        const operator = processes.anOperator(second.url, operatorToken)
        yield* operator.request("POST", `${own}/resume`)
        const newer = yield* sendFive(second.url, "after the restore")
        yield* untilVisible(service, getTexts(newer))
        assert.strictEqual(remote.arrivals(), arrivals + newer.length)
        assert.isAbove(Math.min(...toIds(newer)), Math.max(...toIds([...waiting, ...after])))
        assert.deepStrictEqual(
          (yield* readHeld(second.url)).map(({ id }) => id).toSorted((a, b) => a - b),
          toIds(waiting),
        )
        const { body } = yield* operator.request("POST", "/workspaces/1/held/cancel", {
          filter: {},
        })
        assert.deepStrictEqual(body, { cancelled: 5, more: false })
        assertOnce(remote.displayed(), "shown twice")
      }),
    ),
  )
})
