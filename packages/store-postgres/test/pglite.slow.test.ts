/** What is particular about the embedded database: its files, and its one session. */
import { assert, it, layer } from "@effect/vitest"
import { StoreUnavailable, Store } from "@messaging-service/core"
import { aWorkspace, processes } from "@messaging-service/testkit"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { execFile } from "node:child_process"
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Database } from "../src/database/Database.ts"
import { transactionsOn } from "../src/PostgresService.ts"
import { layerPglite } from "../src/index.ts"
import { schema } from "../src/migrations/index.ts"
import { migrate } from "../src/migrations/migrate.ts"
import { lockDirectory } from "../src/pglite/DirectoryLock.ts"
import { layerPgliteDatabase } from "../src/pglite/layerPgliteDatabase.ts"
import { anEmbeddedDatabase } from "./databases.ts"
import { later } from "./laterVersion.ts"

const aDirectory = Effect.map(processes.temporaryDirectory, (parent) => join(parent, "database"))

/** PGlite takes seconds to start on a busy machine. */
const startsMillis = 120_000

it.live(
  "what was written is there when the database is opened again, by one at a time",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* anEmbeddedDatabase
      const workspace = yield* Effect.gen(function* () {
        const refused = yield* Effect.flip(Effect.scoped(Layer.build(layerPglite({ dataDir }))))
        assert.instanceOf(refused, StoreUnavailable)
        return yield* aWorkspace()
      }).pipe(Effect.provide(layerPglite({ dataDir })))
      const found = yield* Store.use(({ workspaces: store }) => store.get(workspace.id)).pipe(
        Effect.provide(layerPglite({ dataDir })),
      )
      assert.deepStrictEqual(found, workspace)
    }),
  startsMillis,
)

it.live(
  "recreates a database whose first creation was interrupted, and never removes a complete one",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* aDirectory
      const version = join(dataDir, "PG_VERSION")
      const open = Effect.scoped(Layer.build(layerPgliteDatabase({ dataDir })))
      yield* Effect.promise(() => mkdir(dataDir))
      yield* Effect.promise(() => writeFile(version, "17"))
      assert.instanceOf(yield* Effect.flip(open), StoreUnavailable)
      assert.strictEqual(yield* Effect.promise(() => readFile(version, "utf8")), "17")

      yield* Effect.promise(() => writeFile(`${dataDir}.making`, ""))
      yield* open
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(join(dataDir, ".."))), [
        "database",
        "database.exclusive",
      ])
    }),
  startsMillis,
)

/** Whether another process can lock it meanwhile: only memory could show a lock of this very process. */
const lockedElsewhere = (directory: string) =>
  Effect.promise(
    () =>
      new Promise<string>((answered) => {
        const program = `
          const { lockDirectory } = await import(${JSON.stringify(join(import.meta.dirname, "../src/pglite/DirectoryLock.ts"))})
          const { Effect } = await import("effect")
          const exit = await Effect.runPromiseExit(Effect.scoped(lockDirectory(${JSON.stringify(directory)})))
          console.log(exit._tag, String(exit.cause?.reasons[0]?.error?.cause ?? ""))`
        const options = { cwd: join(import.meta.dirname, "..") }
        execFile(
          process.execPath,
          ["--input-type=module", "-e", program],
          options,
          (_, stdout, stderr) => answered(stdout + stderr),
        )
      }),
  )

it.live("a directory is locked while its user runs, and free once that is gone", () =>
  Effect.gen(function* () {
    const directory = yield* aDirectory
    const lock = Effect.scoped(lockDirectory(directory))
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* lockDirectory(directory)
        const { cause } = yield* Effect.flip(lock)
        assert.match(String(cause), /in use by this process/)
        assert.match(yield* lockedElsewhere(directory), /^Failure .*in use by another process/)
      }),
    )
    assert.match(yield* lockedElsewhere(directory), /^Success/)
    yield* lock
  }),
)

const oneDatabase = Layer.unwrap(
  Effect.map(anEmbeddedDatabase, (dataDir) => layerPgliteDatabase({ dataDir })),
)

layer(oneDatabase, { excludeTestServices: true })("the one session", (it) => {
  it.effect("no transaction of the caller's can be joined, which is said", () =>
    Effect.gen(function* () {
      const transactions = yield* transactionsOn(yield* Database)
      const defect = yield* transactions
        .joinTransaction({ query: () => Promise.resolve({ rows: [] }) }, Effect.void)
        .pipe(Effect.catchDefect((cause) => Effect.succeed(String(cause))))
      assert.match(String(defect), /only a store on PostgreSQL/)
    }),
  )

  it.effect("goes to a later version, an index that is made concurrently included", () =>
    Effect.gen(function* () {
      yield* migrate(schema)
      yield* migrate(later)
      const rows = yield* (yield* Database).query<{ readonly id: number }>(
        "applied",
        "select m.id from schema_migrations m order by m.id",
      )
      assert.deepStrictEqual(
        rows.map(({ id }) => id),
        [1, ...later.migrations.map(({ id }) => id)],
      )
    }),
  )

  it.effect("a statement is answered at whatever moment after another it comes", () =>
    Effect.gen(function* () {
      const database = yield* Database
      for (let later = 0; later < 30; later++) {
        yield* database.query("first", "select 1")
        for (let iteration = 0; iteration < later; iteration++)
          yield* Effect.promise(() => Promise.resolve())
      }
    }),
  )

  it.effect("a transaction has the session to itself; one that breaks off leaves nothing", () =>
    Effect.gen(function* () {
      const database = yield* Database
      yield* database.query("make", "create table things (name text)")
      const started = yield* Deferred.make<void>()
      const slow = yield* database
        .transaction("slow", (run) =>
          Effect.gen(function* () {
            yield* run("insert into things values ('lost')")
            yield* Deferred.succeed(started, undefined)
            return yield* Effect.never
          }),
        )
        .pipe(Effect.forkChild)
      yield* Deferred.await(started)
      const other = yield* Effect.forkChild(
        database.query<{ readonly name: string }>("read", "select name from things"),
      )
      yield* Fiber.interrupt(slow)
      assert.deepStrictEqual(yield* Fiber.join(other), [])

      const broken = database.transaction("broken", (run) =>
        Effect.andThen(run("insert into things values ('lost')"), run("select 1 / 0")),
      )
      assert.instanceOf(yield* Effect.flip(broken), StoreUnavailable)
      yield* database.transaction("kept", (run) => run("insert into things values ('kept')"))
      const rows = yield* database.query<{ readonly name: string }>(
        "read",
        "select name from things",
      )
      assert.deepStrictEqual(rows, [{ name: "kept" }])
    }),
  )
})
