/** The embedded database and its disk: what it acknowledged is kept, and when it cannot go on it says so. */
import { messages } from "@electric-sql/pglite"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readlinkSync } from "node:fs"
import { queryObjects } from "node:v8"
import { DurableNodeFS, openDurable } from "../src/pglite/DurablePglite.ts"
import { PgliteSession } from "../src/pglite/PgliteSession.ts"
import { anEmbeddedDatabase } from "./databases.ts"
import { encodeQuery } from "./embedded/turns.ts"

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

/** Turns of connections to a session, and each answer: its connection, first letter, and the syncs of WAL by then. */
const inSession = Effect.map(opened, ({ database, files }) => {
  const answers: Array<readonly [connection: number, kind: string, syncs: number]> = []
  const syncs = () => files.synced.filter((each) => each === "wal").length
  const answer = (connection: number, bytes: Uint8Array) =>
    void answers.push([connection, String.fromCharCode(bytes[0] ?? 0), syncs()])
  const session = new PgliteSession(database, answer, true)
  /** Sends all turns at once and waits for as many answers. */
  const answersTo = async (
    ...steps: ReadonlyArray<readonly [connection: number, text: string]>
  ) => {
    answers.length = files.synced.length = 0
    for (const [connection, text] of steps) session.enqueue(connection, encodeQuery(text))
    const texts = new Set(steps.map(([connection]) => connection))
    while (answers.length < texts.size) await new Promise((later) => setImmediate(later))
    return answers.slice()
  }
  return { answersTo, database, session }
})

/** Of the answer to a statement without rows, to one with rows, and to one that fails. */
const [complete, rows, error] = ["C", "T", "E"]

const insert = "insert into things values (1)"

it.live("commits of several connections share one sync, and none is answered before it", () =>
  Effect.gen(function* () {
    const { answersTo, database, session } = yield* inSession
    yield* Effect.promise(async () => {
      await session.prepare()
      assert.deepStrictEqual(await answersTo([1, insert]), [[1, complete, 1]])
      assert.deepStrictEqual(
        await answersTo([1, insert], [2, insert], [3, "select * from things"]),
        [
          [1, complete, 1],
          [2, complete, 1],
          [3, rows, 1],
        ],
      )
      assert.deepStrictEqual(await answersTo([1, "select * from things"]), [[1, rows, 0]])
      await database.close()
    })
  }),
)

it.live("a transaction goes on without a sync until its end, whatever others wait for", () =>
  Effect.gen(function* () {
    const { answersTo, database, session } = yield* inSession
    yield* Effect.promise(async () => {
      await session.prepare()
      assert.deepStrictEqual(await answersTo([1, "begin"]), [[1, complete, 0]])
      assert.deepStrictEqual(await answersTo([1, insert]), [[1, complete, 0]])
      session.enqueue(2, encodeQuery(insert))
      assert.deepStrictEqual(await answersTo([1, "commit"]), [
        [1, complete, 1],
        [2, complete, 1],
      ])
      // What was committed before is synced while the transaction is open, which fails then.
      assert.deepStrictEqual(await answersTo([1, insert], [2, "begin"]), [
        [2, complete, 0],
        [1, complete, 1],
      ])
      assert.deepStrictEqual(await answersTo([2, "select 1 / 0"]), [[2, error, 0]])
      assert.deepStrictEqual(await answersTo([2, "rollback"]), [[2, complete, 0]])
      await database.close()
    })
  }),
)

it.live("what was withheld from a connection comes before the transaction that it begins", () =>
  Effect.gen(function* () {
    const { answersTo, database, session } = yield* inSession
    yield* Effect.promise(async () => {
      await session.prepare()
      const first = answersTo([1, insert])
      // It is at work on the first, so that this is a turn of its own.
      session.enqueue(1, encodeQuery("begin"))
      assert.deepStrictEqual((await first)[0], [1, complete, 1])
      await answersTo([1, "rollback"])
      await database.close()
    })
  }),
)

it.live("nothing is kept of what statements have answered", () =>
  Effect.gen(function* () {
    const { answersTo, database, session } = yield* inSession
    yield* Effect.promise(async () => {
      await session.prepare()
      for (let time = 0; time < 20; time++) await answersTo([1, "select generate_series(1, 1000)"])
      assert.isBelow(queryObjects(messages.DataRowMessage, { format: "count" }), 1000)
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
