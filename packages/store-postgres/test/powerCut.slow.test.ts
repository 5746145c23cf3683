/** The embedded database after the machine lost its power, at many moments of much work. */
import type { PGlite } from "@electric-sql/pglite"
import { assert, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { DurableNodeFS, openDurable } from "../src/pglite/DurablePglite.ts"
import { PgliteSession } from "../src/pglite/PgliteSession.ts"
import { UnsyncedDisk } from "./embedded/UnsyncedDisk.ts"
import { anEmbeddedDatabase } from "./databases.ts"
import { turnOf } from "./embedded/turns.ts"

/** The same numbers from the same seed (mulberry32), between 0 and 1. */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

/** Of images, which nothing happens to any more: to sync them would take most of the time. */
class ImageFiles extends DurableNodeFS {
  protected override sync(): void {}
}

const onDeath = (cause: unknown) => assert.fail(`it died: ${String(cause)}`)

const rowsOf = 5

/** Rows that belong together, and changes of others, so that pages of all ages are written. */
const work = (group: number, random: () => number) => {
  const insert = `insert into things select ${group}, g, md5(g::text || ${group}) from generate_series(1, ${rowsOf}) g`
  const update = `update things set text = md5(text) where "group" % 50 = ${Math.floor(random() * 50)} and number = 1`
  return random() < 0.2 ? ["begin", insert, update, "commit"] : [`${insert}; ${update}`]
}

const chores = [
  "checkpoint",
  "vacuum things",
  "create table if not exists other as select * from things",
  "drop table if exists other",
]

interface Load {
  readonly session: PgliteSession
  readonly acknowledged: Set<number>
  /** Works on several connections until `isEnough`, and until all is answered. */
  readonly run: (isEnough: () => boolean) => Promise<void>
}

const aLoad = (database: PGlite, random: () => number): Load => {
  const acknowledged = new Set<number>()
  const answered = new Map<number, (bytes: Uint8Array) => void>()
  const session = new PgliteSession(
    database,
    (connection, bytes) => answered.get(connection)?.(bytes),
    true,
  )
  const ask = (connection: number, text: string) =>
    new Promise<void>((resolve, reject) => {
      answered.set(connection, (bytes) => {
        if (Buffer.from(bytes).includes("SERROR")) reject(new Error(Buffer.from(bytes).toString()))
        else resolve()
      })
      session.enqueue(connection, turnOf(text))
    })
  let group = 0
  const works = async (connection: number, isEnough: () => boolean) => {
    while (!isEnough()) {
      const own = ++group
      for (const text of work(own, random)) await ask(connection, text)
      acknowledged.add(own)
      if (own % 40 === 0) await session.exec(chores[Math.floor(random() * chores.length)] ?? "")
    }
  }
  const run = async (isEnough: () => boolean) => {
    await Promise.all([1, 2, 3, 4].map((connection) => works(connection, isEnough)))
  }
  return { session, acknowledged, run }
}

/** What is wrong with an image, of which so much had been acknowledged. */
const faultsOf = async (
  place: string,
  acknowledged: ReadonlySet<number>,
): Promise<ReadonlyArray<string>> => {
  let database: PGlite
  try {
    database = await openDurable({ files: new ImageFiles(place), onDeath: () => undefined })
  } catch (cause) {
    return [`it does not open: ${String(cause)}`]
  }
  const read = async (text: string) => {
    const { rows } = await database.query<{ readonly group: number; readonly rows: number }>(text)
    return new Map(rows.map((row) => [row.group, row.rows]))
  }
  const count = `select "group", count(*)::integer as rows from things where "group" > 0 group by 1`
  const byTable = await read(count)
  await database.exec("set enable_seqscan = off; set enable_bitmapscan = off")
  const byIndex = await read(count)
  await database.exec("insert into things values (-1, 1, ''); reindex table things")
  await database.close()
  return [
    ...[...acknowledged].filter((group) => !byTable.has(group)).map((group) => `${group} is lost`),
    ...[...byTable].flatMap(([group, rows]) =>
      rows === rowsOf && byIndex.get(group) === rows
        ? []
        : [`${group} has ${rows} rows, by its index ${byIndex.get(group)}`],
    ),
  ]
}

const aWorld = Effect.fnUntraced(function* (seed: number) {
  const directory = yield* anEmbeddedDatabase
  const images = yield* processes.temporaryDirectory
  const random = randomFrom(seed)
  return yield* Effect.promise(async () => {
    const made = await openDurable({ files: new DurableNodeFS(directory), onDeath })
    await made.exec(
      `create table things ("group" integer, number integer, text text, primary key ("group", number))`,
    )
    await made.close()
    const disk = new UnsyncedDisk(directory)
    const database = await openDurable({ files: disk, onDeath })
    const load = aLoad(database, random)
    await load.session.prepare()
    return { database, disk, images, load, random }
  })
})

it.live(
  "50 power cuts under load lose nothing that was acknowledged, and it opens after each",
  () =>
    Effect.gen(function* () {
      const { database, disk, images, load, random } = yield* aWorld(20_261_124)
      yield* Effect.promise(async () => {
        for (let cut = 0; cut < 50; cut++) {
          const place = join(images, String(cut))
          let syncsLeft = 5 + Math.floor(random() * 100)
          let acknowledged: ReadonlySet<number> | undefined
          disk.onSync = () => {
            if (--syncsLeft > 0 || acknowledged !== undefined) return
            acknowledged = new Set(load.acknowledged)
            disk.image(place, random() < 0.5, random)
          }
          await load.run(() => acknowledged !== undefined)
          assert.deepStrictEqual(await faultsOf(place, acknowledged ?? new Set()), [], `cut ${cut}`)
          await rm(place, { recursive: true })
        }
        assert.isAbove(load.acknowledged.size, 1000)
        await database.close()
      })
    }),
)

it.live("a disk that only claims to sync is found out", () =>
  Effect.gen(function* () {
    const { database, disk, images, load, random } = yield* aWorld(1)
    yield* Effect.promise(async () => {
      disk.isLying = true
      await load.run(() => load.acknowledged.size >= 100)
      const place = join(images, "lost")
      disk.image(place, false, random)
      assert.include(await faultsOf(place, load.acknowledged), "1 is lost")
      await database.close()
    })
  }),
)
