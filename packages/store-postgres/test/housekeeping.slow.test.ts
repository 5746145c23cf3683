/** What the embedded database cleans up by itself: WAL, and the room of rows that are gone. */
import { assert, it } from "@effect/vitest"
import { aStage, accepted, processes } from "@messaging-service/testkit"
import { Effect, Schedule } from "effect"
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { Database } from "../src/database/Database.ts"
import { layerPglite } from "../src/index.ts"
import { DurableNodeFS, openDurable } from "../src/pglite/DurablePglite.ts"
import { PgliteHousekeeping } from "../src/pglite/PgliteHousekeeping.ts"
import { PgliteSession } from "../src/pglite/PgliteSession.ts"
import { layerPgliteDatabase } from "../src/pglite/layerPgliteDatabase.ts"
import { anEmbeddedDatabase } from "./databases.ts"

const megabyte = 1024 * 1024

const bytesIn = (directory: string) =>
  Effect.promise(async () => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    const sizes = files.map(
      async ({ name, parentPath }) => (await stat(join(parentPath, name))).size,
    )
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  })

it.live("WAL never grows far beyond 64 MB", () =>
  Effect.gen(function* () {
    const dataDir = yield* anEmbeddedDatabase
    yield* Effect.gen(function* () {
      const database = yield* Database
      const write = "select 1 from pg_logical_emit_message(false, '', repeat('x', 1048576), true)"
      for (let written = 0; written < 70; written++) yield* database.query("write", write)
      const isSmall = Effect.map(bytesIn(join(dataDir, "pg_wal")), (bytes) =>
        bytes <= 48 * megabyte ? true : undefined,
      )
      yield* processes.waitUntil("there is a checkpoint", isSmall, Schedule.spaced(50))
    }).pipe(Effect.provide(layerPgliteDatabase({ dataDir }, 50)))
  }),
)

/** Copies of the first row, with ids of their own. */
const insertCopies = (table: string, count: number) => `
insert into ${table}
select (copy).*
from (
  -- With an offset it makes each row once, and not once for each column.
  select jsonb_populate_record(null::${table}, to_jsonb(first) || jsonb_build_object('id', first.id + g)) as copy
  from (select * from ${table} order by id limit 1) first, generate_series(1, ${count}) g
  offset 0
) copies`

const eraseCopies = (table: string) =>
  `delete from ${table} where id > (select min(id) from ${table})`

it.live(
  "100,000 messages that are gone leave the directory at most twice as large as an empty one",
  () =>
    Effect.gen(function* () {
      const dataDir = yield* anEmbeddedDatabase
      yield* Effect.gen(function* () {
        const { number } = yield* aStage()
        yield* accepted(number)
      }).pipe(Effect.provide(layerPglite({ dataDir })))
      const empty = yield* bytesIn(dataDir)

      yield* Effect.promise(async () => {
        const onDeath = (cause: unknown) => assert.fail(String(cause))
        const database = await openDurable({ files: new DurableNodeFS(dataDir), onDeath })
        const session = new PgliteSession(database, () => undefined, true)
        await session.prepare()
        let now = 0
        const housekeeping = new PgliteHousekeeping((text) => session.exec(text), now)
        for (let round = 0; round < 4; round++) {
          await session.exec(insertCopies("messaging.messages", 25_000))
          await session.exec(eraseCopies("messaging.messages"))
          await housekeeping.run((now += 60_000))
        }
        await database.close()
      })
      assert.isAtMost(yield* bytesIn(dataDir), 2 * empty)
    }),
)
