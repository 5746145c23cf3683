/**
 * A program with an embedded database that ends on a broken disk: the program closes while the database opens
 * again on one that never answers.
 */
import { processes } from "@messaging-service/testkit"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { Database } from "../../src/database/Database.ts"
import { layerPgliteDatabase } from "../../src/pglite/layerPgliteDatabase.ts"

const [dataDir = "", control = ""] = process.argv.slice(2)
const disk = processes.faultyDisk(dataDir, control)

const program = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const built = yield* Layer.buildWithScope(layerPgliteDatabase({ dataDir }), scope)
  yield* disk.fail({ kind: "unsyncable" })
  const make = Context.get(built, Database).query("make", "create table things (id integer)")
  yield* Effect.flip(make)
  yield* disk.fail({ kind: "silent" })
  yield* Scope.close(scope, Exit.void)
})

await Effect.runPromise(program)
