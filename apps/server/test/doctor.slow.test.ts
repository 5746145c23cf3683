/** `doctor` of both programs: what it finds, with the variables of a start, and that it changes nothing. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { aDataDirectory, program, upload, worker } from "./aServer.ts"

type Settings = Readonly<Record<string, string>>

/** Runs a program until it ends by itself. */
const ran = (app: string, settings: Settings, ...line: ReadonlyArray<string>) =>
  Effect.flatMap(processes.start(app, settings, line), ({ ended }) => ended)

const doctor = (settings: Settings) => ran(program, settings, "doctor")

/** Of the database that `administer` works in: what a role there may do, and with which schema. */
const asRole = Effect.fnUntraced(function* (role: string, DATABASE_SCHEMA = "messaging") {
  const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
  return {
    DATABASE_URL: Redacted.value(url).replace(
      /postgres@localhost\/\w+/,
      `${role}@localhost/postgres`,
    ),
    DATABASE_SCHEMA,
    DATA_DIR: yield* processes.temporaryDirectory,
    PORT: "0",
  }
})

/** What `doctor` says of a database on which a start fails: the very line of that start. */
const faultOfStart = Effect.fnUntraced(function* (settings: Settings) {
  const { code, stdout } = yield* doctor(settings)
  assert.strictEqual(code, 1, stdout)
  const [, found = ""] = /^fault +database +(.*)\n +-> see docs\/postgresql.md$/m.exec(stdout) ?? []
  const start = yield* ran(program, settings)
  assert.strictEqual(start.code, 1)
  assert.include(start.stderr, found)
  return found
})

/** A port of this machine on which something listens, and one on which nothing does. */
const twoPorts = Effect.gen(function* () {
  const listen = Effect.promise(
    () =>
      new Promise<ReturnType<typeof createServer>>((listening) => {
        const server = createServer((socket) => socket.end())
        server.listen(0, "127.0.0.1", () => listening(server))
      }),
  )
  const getPort = (server: ReturnType<typeof createServer>) =>
    String((server.address() as AddressInfo).port)
  const closed = yield* listen
  const shut = getPort(closed)
  yield* Effect.promise(() => new Promise((done) => closed.close(done)))
  const server = yield* Effect.acquireRelease(listen, (open) => Effect.sync(() => open.close()))
  return { open: getPort(server), shut }
})

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })("doctor", (it) => {
  it.effect("finds no fault with a database, a name and a remote server that answer", () =>
    Effect.gen(function* () {
      const { open, shut } = yield* twoPorts
      const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
      const settings = {
        DATABASE_URL: Redacted.value(url),
        DATA_DIR: join(yield* processes.temporaryDirectory, "data"),
        PORT: shut,
        PUBLIC_URL: "http://localhost",
      }
      const remote = { TRANSPORT: "live", WHATSAPP_URL: `ws://127.0.0.1:${open}` }
      const { code, stderr, stdout } = yield* doctor({ ...settings, ...remote })
      assert.deepStrictEqual([code, stderr], [0, ""])
      for (const line of [
        /^ok +versions +messaging-server \d+\.\d+\.\d+ on Node \d+\./m,
        /^ok +disk +\d+ MiB free in .*; \S+data does not exist yet, created at the first start, reserve \d+ MiB$/m,
        /^ok +database +PostgreSQL \d+\.\d+, without tables, created at the first start$/m,
        /^ok +clock +-?\d\.\d s ahead of the database's$/m,
        /^ok +DNS +localhost is \S+$/m,
        new RegExp(`^ok +transports +WhatsApp at 127\\.0\\.0\\.1:${open} responds$`, "m"),
        new RegExp(`^ok +ports +PORT ${shut} of 127\\.0\\.0\\.1 is free$`, "m"),
      ]) {
        assert.match(stdout, line)
      }
      assert.isFalse(existsSync(settings.DATA_DIR), "it made the data directory")

      yield* processes.startServer(program, { ...settings, PORT: "0" })
      const later = yield* doctor({ ...settings, ...remote })
      assert.match(later.stdout, /^ok +database +PostgreSQL \d+\.\d+, with the service's tables$/m)
      assert.match(later.stdout, /^ok +secrets key +it is the key of this database$/m)
      const wrong = yield* doctor({ ...settings, ...remote, SECRETS_KEY: "ab".repeat(32) })
      assert.strictEqual(wrong.code, 1)
      assert.match(
        wrong.stdout,
        /^fault +secrets key +SECRETS_KEY is not the key of this database\n +-> /m,
      )
    }).pipe(Effect.scoped),
  )

  it.effect("finds a role that may not make the tables which are missing", () =>
    Effect.gen(function* () {
      const { administer } = yield* EmbeddedPostgres
      yield* administer("create role plain login")
      assert.match(
        yield* faultOfStart(yield* asRole("plain", "unmade")),
        /: role "plain" lacks for schema "unmade": CREATE on database postgres \(.* run migrate as a role that has it\)$/,
      )
      yield* administer("create schema unmade", "grant create on database postgres to plain")
      assert.match(
        yield* faultOfStart(yield* asRole("plain", "unmade")),
        /: role "plain" lacks for schema "unmade": CREATE on schema unmade, USAGE on schema unmade \(/,
      )
      yield* administer("grant create, usage on schema unmade to plain")
      const { code, stdout } = yield* doctor(yield* asRole("plain", "unmade"))
      assert.strictEqual(code, 0, stdout)
      assert.match(stdout, /^ok +database .*, without tables, created at the first start$/m)
      const created =
        "select count(*)::integer from pg_class where relnamespace = to_regnamespace('unmade')"
      assert.strictEqual(yield* administer(created), 0)
    }).pipe(Effect.scoped),
  )

  it.effect("finds a role whose transactions are read-only", () =>
    Effect.gen(function* () {
      const { administer } = yield* EmbeddedPostgres
      yield* administer(
        "create role reader login superuser",
        "alter role reader set default_transaction_read_only = on",
      )
      assert.match(
        yield* faultOfStart(yield* asRole("reader")),
        /: default_transaction_read_only is on, and the service writes: turn it off for the role, /,
      )
    }).pipe(Effect.scoped),
  )

  it.effect("finds a grant that is missing, and functions that the role may not make", () =>
    Effect.gen(function* () {
      const { administer } = yield* EmbeddedPostgres
      const migrate = yield* asRole("postgres", "granted")
      yield* ran(program, migrate, "migrate")
      const code = yield* administer(
        "select name from granted.builds order by used_at desc limit 1",
      )
      yield* administer(
        "create role granted login",
        `grant usage on schema granted, ${String(code)} to granted`,
        "grant select, insert, update, delete on all tables in schema granted to granted",
        "grant usage on all sequences in schema granted to granted",
      )
      const settings = yield* asRole("granted", "granted")
      const well = yield* doctor(settings)
      assert.strictEqual(well.code, 0, well.stdout)

      yield* administer("revoke delete on granted.webhook_deliveries from granted")
      assert.match(
        yield* faultOfStart(settings),
        /: role "granted" lacks for schema "granted": DELETE on webhook_deliveries \(grant the role /,
      )
      yield* administer(
        "grant delete on granted.webhook_deliveries to granted",
        `drop schema ${String(code)} cascade`,
      )
      assert.match(
        yield* faultOfStart(settings),
        /: role "granted" lacks for schema "granted": CREATE on database postgres \(/,
      )
    }).pipe(Effect.scoped),
  )

  it.effect("finds a data directory without the files that the database names", () =>
    Effect.gen(function* () {
      const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
      const settings = {
        DATABASE_URL: Redacted.value(url),
        DATA_DIR: yield* processes.temporaryDirectory,
        PORT: "0",
      }
      const elsewhere = { ...settings, DATA_DIR: yield* processes.temporaryDirectory }
      const server = yield* processes.startServer(program, settings)
      assert.strictEqual((yield* doctor(elsewhere)).code, 0)
      const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
      yield* upload(server.url, liveKey, Buffer.from("any"))

      assert.match((yield* doctor(settings)).stdout, /^ok +media files +\S+ holds those of the/m)
      const { code, stdout } = yield* ran(worker, elsewhere, "doctor")
      assert.strictEqual(code, 1)
      assert.match(
        stdout,
        /^fault +media files +DATA_DIR does not hold the files that the database names: .*\n +-> give every process the DATA_DIR that holds them/m,
      )
    }).pipe(Effect.scoped),
  )

  it.effect("leaves a running service on its embedded database alone, and says that it runs", () =>
    Effect.gen(function* () {
      const DATA_DIR = yield* aDataDirectory
      const free = yield* doctor({ DATA_DIR, PORT: "0" })
      assert.match(free.stdout, /^ok +database +embedded; no service runs on it$/m)
      const server = yield* processes.startServer(program, { DATA_DIR, PORT: "0" })
      const { port } = new URL(server.url)
      const { code, stdout } = yield* doctor({ DATA_DIR, PORT: port })
      assert.strictEqual(code, 0)
      assert.match(
        stdout,
        /^note +database +embedded; DATA_DIR is in use by another process\n +-> by this service, if/m,
      )
      assert.match(
        stdout,
        new RegExp(`^note +ports +PORT ${port} of 127.0.0.1 is in use\n +-> by`, "m"),
      )
      const ready = yield* processes.call("GET", `${server.url}/health/ready`)
      assert.strictEqual(ready.status, 200)
    }).pipe(Effect.scoped),
  )

  it.effect("tells whether a start has the key of the embedded database", () =>
    Effect.gen(function* () {
      const DATA_DIR = yield* aDataDirectory
      const server = yield* processes.startServer(program, { DATA_DIR, PORT: "0" })
      yield* server.stop
      const right = yield* doctor({ DATA_DIR, PORT: "0" })
      assert.match(right.stdout, /^ok +secrets key +it is the key of this database$/m)
      const wrong = yield* doctor({ DATA_DIR, PORT: "0", SECRETS_KEY: "ab".repeat(32) })
      assert.strictEqual(wrong.code, 1)
      assert.match(wrong.stdout, /^fault +secrets key +SECRETS_KEY is not the key of this/m)
    }).pipe(Effect.scoped),
  )

  it.effect("of the worker looks at the same, and at its own port", () =>
    Effect.gen(function* () {
      const { shut } = yield* twoPorts
      const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
      const settings = {
        DATABASE_URL: Redacted.value(url),
        DATA_DIR: yield* processes.temporaryDirectory,
        METRICS_PORT: shut,
        SECRETS_KEY: "ab".repeat(32),
      }
      const { code, stdout } = yield* ran(worker, settings, "doctor")
      assert.strictEqual(code, 0, stdout)
      assert.match(stdout, /^ok +versions +messaging-worker \d/m)
      assert.match(stdout, /^ok +database +PostgreSQL /m)
      assert.match(stdout, new RegExp(`^ok +ports +METRICS_PORT ${shut} of 127`, "m"))
      assert.notMatch(stdout, / PORT \d/)
    }).pipe(Effect.scoped),
  )

  it.effect("names each fault with what to do, and ends with 1", () =>
    Effect.gen(function* () {
      const { shut } = yield* twoPorts
      const { code, stderr, stdout } = yield* doctor({
        DATABASE_URL: `postgres://someone:hidden@127.0.0.1:${shut}/messages`,
        DATA_DIR: yield* processes.temporaryDirectory,
        DISK_RESERVE: "900TiB",
        PORT: "0",
        TRANSPORT: "live",
        WHATSAPP_URL: `ws://127.0.0.1:${shut}`,
      })
      assert.deepStrictEqual([code, stderr], [1, "3 faults found\n"])
      for (const lines of [
        /^fault +disk .*\n +-> free some space, or lower DISK_RESERVE/m,
        /^fault +database +DATABASE_URL: cannot use this database: .*\n +-> see /m,
        /^fault +transports +WhatsApp at 127\.0\.0\.1:\d+ does not respond: .*\n +-> allow outbound connections/m,
      ]) {
        assert.match(stdout, lines)
      }
      assert.notInclude(stdout, "hidden")
    }).pipe(Effect.scoped),
  )

  it.effect("reports wrong settings in the words of a start", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* doctor({ PORT: "many" })
      assert.strictEqual(code, 1)
      assert.match(stdout, /^fault +settings +PORT must be a whole number from 0 to 65535\n/m)
    }).pipe(Effect.scoped),
  )
})
