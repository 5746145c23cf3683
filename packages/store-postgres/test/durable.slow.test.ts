/** The embedded database and its disk: what it acknowledged is kept, and when it cannot go on it says so. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readlinkSync } from "node:fs"
import { DurableNodeFS, openDurable } from "../src/pglite/DurablePglite.ts"
import { anEmbeddedDatabase } from "./databases.ts"

/** Notes each sync by what it is of, and fails it once `isBroken` says so. */
class WatchedFiles extends DurableNodeFS {
  readonly synced: Array<string> = []
  isBroken = false

  protected override sync(descriptor: number, how: (descriptor: number) => void): void {
    if (this.isBroken) throw Object.assign(new Error("input/output error"), { code: "EIO" })
    const path = readlinkSync(`/proc/self/fd/${descriptor}`)
    this.synced.push(path.includes("/pg_wal/") ? "wal" : "other")
    how(descriptor)
  }
}

const opened = Effect.gen(function* () {
  const files = new WatchedFiles(yield* anEmbeddedDatabase)
  const deaths: Array<unknown> = []
  const onDeath = (cause: unknown) => void deaths.push(cause)
  const database = yield* Effect.promise(() => openDurable({ files, onDeath }))
  yield* Effect.promise(() => database.exec("create table things (id integer)"))
  return { database, deaths, files }
})

it.live("each commit is synced once, before it is answered", () =>
  Effect.gen(function* () {
    const { database, files } = yield* opened
    yield* Effect.promise(async () => {
      for (let id = 0; id < 10; id++) {
        files.synced.length = 0
        await database.exec(`insert into things values (${id})`)
        assert.deepStrictEqual(files.synced, ["wal"])
      }
      files.synced.length = 0
      await database.exec("select * from things")
      assert.deepStrictEqual(files.synced, [])
      await database.close()
    })
  }),
)

it.live(
  "a disk that fails a sync ends it in the same turn, and nothing is asked of it any more",
  () =>
    Effect.gen(function* () {
      const { database, deaths, files } = yield* opened
      const failed = (text: string) =>
        database.exec(text).then(
          () => assert.fail("it went on"),
          (cause: unknown) => cause,
        )
      yield* Effect.promise(async () => {
        files.isBroken = true
        const cause = await failed("insert into things values (1)")
        assert.deepStrictEqual(deaths, [cause])
        files.isBroken = false
        files.synced.length = 0
        assert.strictEqual(await failed("insert into things values (2)"), cause)
        assert.deepStrictEqual([deaths.length, files.synced], [1, []])
      })
    }),
)
