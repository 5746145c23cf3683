/** What is particular about the embedded database: its files, and its one session. */
import { assert, it } from "@effect/vitest"
import { ClockStore, StoreUnavailable, WorkspaceStore } from "@messaging-service/core"
import { aWorkspace } from "@messaging-service/testkit"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Database } from "../src/database/Database.ts"
import { layerPglite } from "../src/index.ts"
import { layerPgliteDatabase } from "../src/pglite/layerPgliteDatabase.ts"

const aDirectory = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "pglite-"))),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true })),
  ),
  (directory) => join(directory, "database"),
)

it.live("what was written is there when the database is opened again", () =>
  Effect.gen(function* () {
    const dataDir = yield* aDirectory
    const made = yield* aWorkspace().pipe(Effect.provide(layerPglite({ dataDir })))
    const found = yield* WorkspaceStore.use((store) => store.get(made.id)).pipe(
      Effect.provide(layerPglite({ dataDir })),
    )
    assert.deepStrictEqual(found, made)
  }),
)

it.live("a directory that is in use is refused, and free once its user is gone", () =>
  Effect.gen(function* () {
    const dataDir = yield* aDirectory
    const open = Effect.scoped(Layer.build(layerPglite({ dataDir })))
    yield* Effect.gen(function* () {
      yield* ClockStore.use((clock) => clock.ping)
      assert.instanceOf(yield* Effect.flip(open), StoreUnavailable)
    }).pipe(Effect.provide(layerPglite({ dataDir })))
    yield* open

    // The parent of this process runs; a process of that number never does.
    yield* Effect.promise(() => writeFile(`${dataDir}.lock`, String(process.ppid)))
    assert.instanceOf(yield* Effect.flip(open), StoreUnavailable)
    yield* Effect.promise(() => writeFile(`${dataDir}.lock`, "4194305"))
    yield* open
  }),
)

it.live(
  "who is in a transaction has the session to itself; one that breaks off leaves nothing",
  () =>
    Effect.gen(function* () {
      const database = Context.get(yield* Layer.build(layerPgliteDatabase({})), Database)
      yield* database.query("make", "create table things (name text)")
      const begun = yield* Deferred.make<void>()
      const slow = yield* database
        .transaction("slow", (run) =>
          Effect.gen(function* () {
            yield* run("insert into things values ('lost')")
            yield* Deferred.succeed(begun, undefined)
            return yield* Effect.never
          }),
        )
        .pipe(Effect.forkChild)
      yield* Deferred.await(begun)
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
