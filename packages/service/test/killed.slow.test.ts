/**
 * A killed program that sends and cancels inside its own transaction: all of it is there, or nothing, and the next process continues from there.
 */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { dirname, join } from "node:path"
import { Pool } from "pg"
import type { PoolConfig } from "pg"
import { aShop, all, first, opened, phone } from "./Opened.ts"

const home = join(import.meta.dirname, "..")

const command = { to: { phone }, text: "Order 1" }
const idempotencyKey = "order 1"

/** Orders, sends and cancels in one transaction, and kills itself with a signal that leaves no time. */
const makeProgram = (
  address: PoolConfig,
  dataDirectory: string,
  cancelled: number,
  isCommitted: boolean,
) => `
import { writeSync } from "node:fs"
import { Pool } from "pg"
import { open } from ${JSON.stringify(join(home, "src/index.ts"))}
const pool = new Pool(${JSON.stringify({ ...address, application_name: "killed" })})
const dataDirectory = ${JSON.stringify(dataDirectory)}
const messaging = await open({ store: { pool }, dataDirectory, worker: false })
const api = messaging.as(await messaging.workspaces.ensure("shop"))
const client = await pool.connect()
await client.query("begin")
await client.query("insert into public.orders values (1)")
const { id } = await api.messages.send(${JSON.stringify(command)}, {
  idempotencyKey: ${JSON.stringify(idempotencyKey)},
  transaction: client,
})
await api.messages.cancel(${cancelled}, { transaction: client })
writeSync(1, String(id))
${isCommitted ? 'await client.query("commit")' : ""}
process.kill(process.pid, "SIGKILL")
`

/** Runs the program to its end; returns how it ended and what it wrote. */
const killed = (program: string) =>
  new Promise<{ readonly signal: string | null; readonly written: string }>((resolve, reject) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      cwd: home,
      stdio: ["ignore", "pipe", "inherit"],
    })
    let written = ""
    child.stdout.on("data", (chunk: Buffer) => {
      written += chunk.toString()
    })
    child.once("error", reject)
    child.once("close", (_, signal) => resolve({ signal, written }))
  })

/** The server has noticed the process's death, and closed its transaction. */
const untilGone = async (pool: Pool): Promise<void> => {
  for (;;) {
    const { rowCount } = await pool.query(
      "select 1 from pg_stat_activity where application_name = 'killed'",
    )
    if (rowCount === 0) return
  }
}

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "a process that is killed while it sends and cancels inside its own transaction",
  (it) => {
    /** State that the next process finds after a kill at that point. */
    const afterKill = (isCommitted: boolean) =>
      Effect.gen(function* () {
        const { database, path, username } = yield* (yield* EmbeddedPostgres).createDatabase()
        const dataDirectory = yield* processes.temporaryDirectory
        const address = { host: dirname(path), user: username, database, max: 4 }
        return yield* Effect.promise(async () => {
          const pool = new Pool(address)
          await pool.query("create table public.orders (id integer)")
          const messaging = await opened({ store: { pool }, dataDirectory, worker: false })
          const { api } = await aShop(messaging)
          const earlier = await api.messages.send({
            to: { phone },
            text: "Earlier",
            sendAt: new Date(Date.now() + 3_600_000),
          })
          const program = makeProgram(address, dataDirectory, earlier.id, isCommitted)
          const { signal, written } = await killed(program)
          assert.deepStrictEqual([signal, Number(written) > 0], ["SIGKILL", true])
          await untilGone(pool)
          const { rowCount: orders } = await pool.query("select 1 from public.orders")
          const there = (await all(api.messages.list({ status: "queued" }))).map(({ id }) => id)
          const { status: earlierIs } = await api.messages.get(earlier.id)
          // The next process repeats the killed one's work, under the same key.
          const again = await api.messages.send(command, { idempotencyKey })
          const heard = first(1)
          messaging.on("message.sent", heard.handler, { after: 0 })
          const drains = [await messaging.drain(), await messaging.drain()]
          await heard.all
          await messaging.close()
          await pool.end()
          return {
            sentId: Number(written),
            orders,
            there,
            earlierIs,
            again,
            sent: drains.map(({ sent }) => sent),
            reported: heard.heard.map(({ message }) => message.id),
          }
        })
      })

    it.effect("before the commit leaves nothing, and its key is free for the next process", () =>
      Effect.gen(function* () {
        const { again, earlierIs, orders, sent, there, reported } = yield* afterKill(false)
        assert.deepStrictEqual([orders, there, again.replayed], [0, [], false])
        assert.strictEqual(earlierIs, "scheduled")
        assert.deepStrictEqual([sent, reported], [[1, 0], [again.id]])
      }),
    )

    it.effect("right after the commit leaves the message, which the next process sends once", () =>
      Effect.gen(function* () {
        const { again, earlierIs, orders, sent, sentId, there, reported } = yield* afterKill(true)
        assert.deepStrictEqual([orders, there, again.replayed], [1, [sentId], true])
        assert.strictEqual(earlierIs, "cancelled")
        assert.deepStrictEqual([sent, reported, again.id], [[1, 0], [sentId], sentId])
      }),
    )
  },
)
