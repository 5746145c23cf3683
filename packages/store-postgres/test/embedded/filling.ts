/**
 * A program that works on an embedded database with a disk that is full again and again, each time a little
 * later. It prints each statement that it begins, then what was acknowledged and what was lost.
 * See `fullDisk.slow.test.ts`.
 */
import { processes } from "@messaging-service/testkit"
import { Cause, Effect, Exit, Option, Schedule } from "effect"
import { Database } from "../../src/database/Database.ts"
import { layerPgliteDatabase } from "../../src/pglite/layerPgliteDatabase.ts"

const [dataDir = "", control = "", rounds = "0", step = "1"] = process.argv.slice(2)

const disk = processes.faultyDisk(dataDir, control)

const program = Effect.gen(function* () {
  const database = yield* Database
  yield* database.query("make", "create table things (id integer primary key, filling text)")
  const acknowledged: Array<number> = []
  let id = 0
  let refusals = 0
  /** Failures that do not say that the disk is full, and when to try again. */
  const faults: Array<string> = []
  /** Whether it was done. What hangs is the last one printed. */
  const isDone = Effect.fnUntraced(function* (text: string, args: ReadonlyArray<unknown> = []) {
    process.stdout.write(`${text}\n`)
    const exit = yield* Effect.exit(database.query("work", text, args))
    if (Exit.hasDies(exit)) return yield* Effect.die(exit)
    if (Exit.isSuccess(exit)) return true
    refusals++
    const error = Option.getOrNull(Exit.findErrorOption(exit))
    if (error?.retryAfter === undefined || error.isDiskFull !== true) {
      faults.push(Cause.pretty(exit.cause))
    }
    return false
  })
  const insert = Effect.gen(function* () {
    const own = ++id
    const text =
      "insert into things values ($1, (select string_agg(md5(g::text), '') from generate_series(1, 100) g))"
    const done = yield* isDone(text, [own])
    if (done) acknowledged.push(own)
    return done
  })
  /** What takes room in every way: rows, a new segment of WAL, a checkpoint, files of tables. */
  const work = Effect.gen(function* () {
    yield* insert
    yield* isDone("select pg_switch_wal()::text")
    yield* insert
    yield* isDone("checkpoint")
    yield* isDone(`create table files_${id} as select * from things`)
    yield* insert
    yield* isDone(`drop table if exists files_${id - 1}`)
    yield* insert
  })
  for (let round = 0; round < Number(rounds); round++) {
    yield* disk.fail({ kind: "full", roomFor: round * Number(step) })
    yield* work
    yield* disk.repair
    const inserted = Effect.filterOrFail(insert, (isInserted) => isInserted)
    yield* Effect.retry(inserted, Schedule.spaced(100))
  }
  const rows = yield* database.query<{ readonly id: number }>("read", "select id from things")
  const found = new Set(rows.map((row) => row.id))
  const lost = acknowledged.filter((each) => !found.has(each))
  return { acknowledged: acknowledged.length, lost, refusals, faults }
})

const result = await Effect.runPromise(Effect.provide(program, layerPgliteDatabase({ dataDir })))
process.stdout.write(`${JSON.stringify(result)}\n`)
