/**
 * pg-boss doing a dispatcher's work: fetch, hand over, and in one transaction the messages, their
 * events and the end of the jobs. Set-based where it can be, so that nothing is held against it. It
 * keeps no order of numbers: its groups, with a concurrency of 1, were tried and let two workers hold
 * jobs of one number at once, so they were excluded.
 */
import { Effect } from "effect"
import { PgBoss } from "pg-boss"
import type { Pool } from "pg"
import { openPool, poolConfig } from "../database/BenchDatabase.ts"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { check } from "../measuring/checks.ts"
import type { Queue } from "./Queue.ts"
import { sendNothing, writeSent } from "./sentMessage.ts"
import type { Job } from "./sentMessage.ts"

/** As many as a dispatcher of the service holds lanes. */
const batchSize = 64

/** As many connections as the service has, for its jobs and as many again for the messages. */
const pool = 10

const schema = "pgboss"
const queue = "dispatch"

export const openPgBoss = Effect.fnUntraced(function* openPgBoss(database: BenchDatabase) {
  const settings = poolConfig(database)
  const boss = yield* Effect.acquireRelease(
    Effect.promise(() =>
      new PgBoss({
        host: settings.host ?? "",
        port: settings.port ?? 0,
        user: settings.user ?? "",
        database: database.database,
        schema,
        max: pool,
        supervise: false,
        schedule: false,
      }).start(),
    ),
    (started) => Effect.promise(() => started.stop({ graceful: false })),
  )
  yield* Effect.promise(() => boss.createQueue(queue))
  const connections = yield* openPool(database, { max: pool })

  const opened: Queue = {
    name: "pg-boss",
    fill: Effect.gen(function* fill() {
      yield* Effect.promise(() => boss.deleteAllJobs(queue))
      const rows = yield* database.query(`
        select m.id, m.workspace_id, m.number_id, m.to_phone, m.transport_id, m.created_at
        from messages m
        order by m.due_at`)
      const jobs = rows.map((row): Job => ({
        id: Number(row["id"]),
        workspaceId: Number(row["workspace_id"]),
        numberId: Number(row["number_id"]),
        phone: String(row["to_phone"]),
        transportId: String(row["transport_id"]),
        createdAt: Number(row["created_at"]),
      }))
      for (let first = 0; first < jobs.length; first += 5000) {
        yield* Effect.promise(() =>
          boss.insert(
            queue,
            jobs.slice(first, first + 5000).map((data) => ({ data })),
          ),
        )
      }
      yield* database.query(`vacuum analyze ${schema}.job`)
    }),
    dispatch: (workers, count) =>
      Effect.promise(async () => {
        const reported = { handedOver: 0 }
        await Promise.all(
          Array.from({ length: workers }, () => dispatchAll(boss, connections, reported, count)),
        )
        return reported.handedOver
      }),
    checkDone: (count) =>
      Effect.gen(function* () {
        const completed = `select count(*) from ${schema}.job where state = 'completed'`
        yield* check("jobs completed", yield* database.count(completed), count)
      }),
  }
  return opened
})

/** One worker: until all jobs are handed over. */
const dispatchAll = async (
  boss: PgBoss,
  connections: Pool,
  reported: { handedOver: number },
  count: number,
): Promise<void> => {
  while (reported.handedOver < count) {
    const jobs = await boss.fetch<Job>(queue, { batchSize })
    if (jobs.length === 0) return
    await Promise.all(jobs.map(() => sendNothing()))
    reported.handedOver += jobs.length
    const client = await connections.connect()
    await client.query("begin")
    await writeSent(
      client,
      jobs.map(({ data }) => data),
    )
    await boss.complete(
      queue,
      jobs.map(({ id }) => id),
      null,
      { db: { executeSql: (text, values) => client.query(text, values) } },
    )
    await client.query("commit")
    client.release()
  }
}
