/** The embedded database after the machine lost its power, at many moments of much work. */
import type { PGlite } from "@electric-sql/pglite"
import { assert, it } from "@effect/vitest"
import { bySize, processes, testSeed } from "@messaging-service/testkit"
import { Effect } from "effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { DurableNodeFS, openDurable } from "../src/pglite/DurablePglite.ts"
import { PgliteSession } from "../src/pglite/PgliteSession.ts"
import { findFaults, makeThings, randomFrom, makeWork } from "./embedded/things.ts"
import { UnsyncedDisk } from "./embedded/UnsyncedDisk.ts"
import { anEmbeddedDatabase } from "./databases.ts"
import { encodeQuery } from "./embedded/turns.ts"

const cuts = bySize({ change: 10, all: 50, night: 500 })

const onDeath = (cause: unknown) => assert.fail(`it died: ${String(cause)}`)

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
  const query = (connection: number, text: string) =>
    new Promise<void>((resolve, reject) => {
      answered.set(connection, (bytes) => {
        if (Buffer.from(bytes).includes("SERROR")) reject(new Error(Buffer.from(bytes).toString()))
        else resolve()
      })
      session.enqueue(connection, encodeQuery(text))
    })
  let group = 0
  const works = async (connection: number, isEnough: () => boolean) => {
    while (!isEnough()) {
      const own = ++group
      const [insert, update] = makeWork(own, random)
      const steps = random() < 0.2 ? ["begin", insert, update, "commit"] : [`${insert}; ${update}`]
      for (const text of steps) await query(connection, text)
      acknowledged.add(own)
      if (own % 40 === 0) await session.exec(chores[Math.floor(random() * chores.length)] ?? "")
    }
  }
  const run = async (isEnough: () => boolean) => {
    await Promise.all([1, 2, 3, 4].map((connection) => works(connection, isEnough)))
  }
  return { session, acknowledged, run }
}

const aWorld = Effect.fnUntraced(function* (seed: number) {
  const directory = yield* anEmbeddedDatabase
  const images = yield* processes.temporaryDirectory
  const random = randomFrom(seed)
  return yield* Effect.promise(async () => {
    const created = await openDurable({ files: new DurableNodeFS(directory), onDeath })
    await created.exec(makeThings)
    await created.close()
    const disk = new UnsyncedDisk(directory)
    const database = await openDurable({ files: disk, onDeath })
    const load = aLoad(database, random)
    await load.session.prepare()
    return { database, disk, images, load, random }
  })
})

it.live(
  `${cuts} power cuts under load lose nothing that was acknowledged, and it opens after each (seed ${testSeed()})`,
  () =>
    Effect.gen(function* () {
      const { database, disk, images, load, random } = yield* aWorld(testSeed())
      yield* Effect.promise(async () => {
        for (let cut = 0; cut < cuts; cut++) {
          const path = join(images, String(cut))
          let syncsLeft = 5 + Math.floor(random() * 100)
          let acknowledged: ReadonlySet<number> | undefined
          disk.onSync = () => {
            if (--syncsLeft > 0 || acknowledged !== undefined) return
            acknowledged = new Set(load.acknowledged)
            disk.image(path, random() < 0.5, random)
          }
          await load.run(() => acknowledged !== undefined)
          assert.deepStrictEqual(
            await findFaults(path, acknowledged ?? new Set()),
            [],
            `cut ${cut}`,
          )
          await rm(path, { recursive: true })
        }
        assert.isAbove(load.acknowledged.size, cuts * 20)
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
      const path = join(images, "lost")
      disk.image(path, false, random)
      assert.include(await findFaults(path, load.acknowledged), "1 is lost")
      await database.close()
    })
  }),
)
