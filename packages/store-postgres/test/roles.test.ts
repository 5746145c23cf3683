/**
 * Who may do what on a database, and what a start says that cannot be: one line with the cause and what
 * to do, and no secret.
 */
import { assert, layer } from "@effect/vitest"
import type { StoreUnavailable } from "@messaging-service/core"
import { EmbeddedPostgres, aStage, accepted } from "@messaging-service/testkit"
import { PgConnection } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { hostsIn, readUrl } from "../src/database/DatabaseUrl.ts"
import { Database, fromConnections } from "../src/database/Database.ts"
import { defaultLimits } from "../src/database/Connection.ts"
import type { ConnectionPool } from "../src/database/Connection.ts"
import type { Surroundings } from "../src/database/Schema.ts"
import { migrateDatabase } from "../src/index.ts"
import { aBareDatabase, aDatabase, aProcess, toOptions } from "./databases.ts"

const page = readFileSync(resolve(import.meta.dirname, "../../../docs/postgresql.md"), "utf8")

/** What the page tells an administrator to run. */
const grants = /```sql\n([^`]*)```/.exec(page)?.[1] ?? ""

/** Runs statements as the superuser. */
const administering = (options: ReturnType<typeof toOptions>, ...texts: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { database, path, username } = options
      const connection = yield* PgConnection.make({ database, path, username })
      for (const text of texts) yield* connection.query(text, [], false)
    }),
  )

const getLine = ({ cause }: StoreUnavailable): string => {
  assert.instanceOf(cause, Error)
  assert.isUndefined(cause.cause)
  assert.notInclude(cause.message, "\n")
  return cause.message
}

const failing = (
  options: Parameters<typeof aProcess>[1],
  database: Parameters<typeof aProcess>[0],
) => Effect.map(Effect.scoped(Effect.flip(aProcess(database, options ?? {}))), getLine)

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })("roles and starts", (it) => {
  it.effect("the service runs as a role with the grants of the page, and owns nothing", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      const options = toOptions(database)
      const asApp = { username: "messaging_app" }
      const statements = grants
        .replace("on database messaging", `on database ${database.database}`)
        .split(";")
        .filter((text) => text.trim() !== "")
      yield* administering(options, ...statements)
      assert.match(
        yield* failing(asApp, database),
        /^role "messaging_app" lacks for schema "messaging": CREATE on database \w+, CREATE on schema messaging \(.*run migrate/,
      )
      yield* migrateDatabase({ ...options, username: "messaging_owner" })
      const stores = yield* aProcess(database, asApp)
      yield* Effect.provide(
        Effect.flatMap(aStage(), ({ number }) => accepted(number)),
        stores,
      )

      yield* administering(
        options,
        "revoke insert on messaging.messages from messaging_app",
        "revoke usage on sequence messaging.messages_id_seq from messaging_app",
      )
      assert.match(
        yield* failing(asApp, database),
        /^role "messaging_app" lacks for schema "messaging": INSERT on messages, USAGE on messages_id_seq \(/,
      )
    }),
  )

  it.effect("a start that cannot be says why in one line, without the password", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      const options = toOptions(database)
      yield* administering(
        options,
        "create role needs_password login password 'right'",
        "create role plain login",
        `copy (values ('local all needs_password scram-sha-256'), ('local all all trust'))
           to '${dirname(database.path)}/data/pg_hba.conf'`,
        "select pg_reload_conf()",
        // A connection that is made now is judged by what was loaded.
        "select",
      )
      const password = "very-secret"
      const wrong = yield* failing({ username: "needs_password", password }, database)
      assert.match(wrong, /password authentication failed.*\(check the user and the password\)/)
      assert.notInclude(wrong, password)
      assert.match(
        yield* failing({ database: "nowhere" }, database),
        /database "nowhere" does not exist \(create the database/,
      )
      assert.match(
        yield* failing({ username: "unknown_role" }, database),
        /role "unknown_role" does not exist/,
      )
      assert.match(
        yield* failing({ path: "/nonexistent/.s.PGSQL.5432" }, database),
        /ENOENT.*\(there is no such socket\)/,
      )
      assert.match(
        yield* failing({ username: "plain" }, database),
        /^role "plain" lacks for schema "messaging": CREATE on database \w+ \(.*run migrate/,
      )
    }),
  )

  it.effect("what a URL asks for and cannot have is refused by its name", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      const of = (url: string) =>
        Effect.map(Effect.scoped(Effect.flip(Layer.build(Database.layer({ url })))), getLine)
      const host = `?host=${dirname(database.path)}`
      const at = `postgres://postgres@localhost/${database.database}${host}`
      for (const [url, reason] of [
        ["postgres://a:1,b:2/db", /^it names several hosts: /],
        ["postgres://u:p@a,b/db", /^it names several hosts: /],
        ["postgres:///db?host=a,b", /^it names several hosts: /],
        [`${at}&target_session_attrs=standby`, /^target_session_attrs=standby is not supported/],
        [`${at}&channel_binding=require`, /^channel_binding=require is not supported/],
        [`${at}&sslcert=a.pem`, /^sslcert is not supported: client certificates/],
        [`${at}&sslrootcert=a.pem`, /^sslrootcert needs sslmode to be one of require/],
        [`${at}&sslmode=require&sslrootcert=/none.pem`, /^sslrootcert names \/none.pem, which/],
        [`${at}&sslmode=require`, /does not support TLS/],
      ] as const) {
        assert.match(yield* of(url), reason)
      }
      const works = `${at}&sslmode=prefer&target_session_attrs=read-write&application_name=x`
      yield* Effect.scoped(Layer.build(Database.layer({ url: works })))
    }),
  )

  const barePasswords = [
    "postgres://app:p@topsecretword/w#rd@127.0.0.1:1/shop",
    "postgres://app:topsecretword@1@127.0.0.1:1/shop",
    "postgres://app:topsecret/word@127.0.0.1:1/shop",
    "postgres://app:12/topsecretword@127.0.0.1:1/shop",
    "postgresql://app:topsecret#word@127.0.0.1:1/shop",
    "postgres://app:12?topsecretword@127.0.0.1:1/shop",
    "postgres://app:12?topsecret=word@127.0.0.1:1/shop",
    "postgres://app:p,topsecret/word@127.0.0.1:1/shop",
    "postgres://app:topsecret%word@127.0.0.1:1/shop",
    "postgres://app:topsecret100%@127.0.0.1:1/shop",
    "postgres://app:topsecretword%ff@127.0.0.1:1/shop",
    "postgres://app:p@topsecretword#/shop",
    "postgres://app:p@topsecretword?@127.0.0.1/shop?sslmode=require",
  ]
  it.effect.each(barePasswords)("a password that is not percent-encoded is not shown: %s", (url) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Database.layer({ url }))))
      assert.match(getLine(error), /percent-encode the password/)
      assert.deepStrictEqual(hostsIn(url), [])
      assert.notMatch(String(error) + getLine(error), /topsecret|w#rd/)
    }),
  )

  it.effect("passwords that are percent-encoded, or need not be, are taken", () =>
    Effect.sync(() => {
      for (const url of [
        "postgres://app:p%40ss%2Fw%23rd%3F%25@db.example:5432/shop",
        "postgres://app:p,w:o!$&'()*+;=rd@db.example/shop?sslmode=require",
        "postgres://app@db.example/shop",
        "postgres:///shop?host=/run/postgresql&user=app@tenant&password=p@ss",
        "postgres://app@%2Frun%2Fpostgresql/shop?application_name=me@here",
        "postgres://[2001:db8::1]:5432/shop",
      ]) {
        assert.deepStrictEqual(readUrl(url), {}, url)
      }
    }),
  )

  it.effect(
    "a standby is refused, a read-only role, and a pooler that drops the settings of connections",
    () =>
      Effect.gen(function* () {
        const answers = {
          version: "18.4",
          number: 180_004,
          encoding: "UTF8",
          found: "messaging",
        }
        const of = (overrides: Partial<Surroundings>) => {
          const connection = {
            query: () => Effect.succeed({ rows: [{ ...answers, ...overrides }] }),
            queryValues: () => Effect.succeed([]),
            pin: Effect.never,
          }
          const pool: ConnectionPool = { maxConnections: 1, get: Effect.succeed(connection) }
          return fromConnections(pool, defaultLimits, { joinable: true, keepsSettings: true })
        }
        const kept = "force_generic_plan"
        assert.match(
          getLine(yield* Effect.flip(of({ isStandby: true, planCacheMode: kept }))),
          /is a standby in recovery: name the primary/,
        )
        assert.match(
          getLine(yield* Effect.flip(of({ isStandby: false, planCacheMode: "auto" }))),
          /a pooler such as pgbouncer dropped them/,
        )
        assert.match(
          getLine(yield* Effect.flip(of({ isReadOnly: true, planCacheMode: kept }))),
          /^default_transaction_read_only is on, /,
        )
        for (const encoding of ["SQL_ASCII", "LATIN1", "WIN1252", "EUC_JP", "MULE_INTERNAL"]) {
          const line = getLine(yield* Effect.flip(of({ encoding, planCacheMode: kept })))
          assert.include(line, `its encoding is ${encoding}, which`)
          assert.include(line, "encoding 'UTF8'")
        }
        yield* of({ isStandby: false, isReadOnly: false, planCacheMode: kept })
      }),
  )

  it.effect("a server that is too old is named with its version", () =>
    Effect.gen(function* () {
      const connection = {
        query: () =>
          Effect.succeed({ rows: [{ version: "14.9", number: 140_009, found: "messaging" }] }),
        queryValues: () => Effect.succeed([]),
        pin: Effect.never,
      }
      const pool: ConnectionPool = {
        maxConnections: 1,
        get: Effect.succeed(connection),
        use: (run) => run(connection),
      }
      const error = yield* Effect.flip(fromConnections(pool, defaultLimits, { joinable: true }))
      assert.strictEqual(getLine(error), "PostgreSQL 15 or newer is needed, and this is 14.9")
    }),
  )
})
