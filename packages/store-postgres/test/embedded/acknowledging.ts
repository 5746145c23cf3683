/** A program that writes to an embedded database until it is ended, and prints what was acknowledged. */
import { Effect } from "effect"
import { Database } from "../../src/database/Database.ts"
import { layerPgliteDatabase } from "../../src/pglite/layerPgliteDatabase.ts"
import { makeThings, randomFrom, makeWork } from "./things.ts"

const [dataDir = ""] = process.argv.slice(2)
const random = randomFrom(1)

const program = Effect.gen(function* () {
  const database = yield* Database
  yield* database.query("make", makeThings)
  let group = 0
  const work = Effect.gen(function* () {
    const own = ++group
    yield* database.transaction("work", (run) =>
      Effect.forEach(makeWork(own, random), (text) => run(text)),
    )
    process.stdout.write(`${own}\n`)
    if (own % 100 === 0)
      yield* database.query("work", own % 200 === 0 ? "checkpoint" : "vacuum things")
  })
  yield* Effect.all(
    [1, 2, 3, 4].map(() => Effect.forever(work)),
    { concurrency: "unbounded" },
  )
})

await Effect.runPromise(Effect.provide(program, layerPgliteDatabase({ dataDir })))
