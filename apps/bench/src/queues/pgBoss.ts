/**
 * pg-boss doing a dispatcher's work: fetch, hand over, and in one transaction the messages, their
 * events and the end of the jobs. Set-based where it can be, so that nothing is held against it.
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

/** `groups`: one job of a number at a time, the nearest that it has to the service's lanes. */
export const openPgBoss = Effect.fnUntraced(function* (database: BenchDatabase, groups: boolean) {
  const schema = groups ? "pgboss_groups" : "pgboss"
  const queue = "dispatch"
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

  /** Numbers of the jobs that are fetched and not completed. */
  const inHand = new Set<number>()
  let sideBySide = 0

  const opened: Queue = {
    name: groups ? "pg-boss with groups" : "pg-boss",
    fill: Effect.gen(function* () {
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
            jobs.slice(first, first + 5000).map((data) => ({
              data,
              ...(groups ? { group: { id: String(data.numberId) } } : {}),
            })),
          ),
        )
      }
      yield* database.query(`vacuum analyze ${schema}.job`)
    }),
    dispatch: (workers, count) =>
      Effect.promise(async () => {
        inHand.clear()
        const told = { handedOver: 0, sideBySide: 0 }
        await Promise.all(
          Array.from({ length: workers }, () =>
            dispatchAll(boss, queue, connections, groups, told, inHand, count),
          ),
        )
        sideBySide = told.sideBySide
        return told.handedOver
      }),
    checkDone: (count) =>
      Effect.gen(function* () {
        const completed = `select count(*) from ${schema}.job where state = 'completed'`
        yield* check("jobs completed", yield* database.count(completed), count)
        if (groups) yield* check("jobs of one number side by side", sideBySide, 0)
      }),
  }
  return opened
})

/** One worker: until all jobs are handed over. */
const dispatchAll = async (
  boss: PgBoss,
  queue: string,
  connections: Pool,
  groups: boolean,
  told: { handedOver: number; sideBySide: number },
  inHand: Set<number>,
  count: number,
): Promise<void> => {
  while (told.handedOver < count) {
    const jobs = await boss.fetch<Job>(queue, {
      batchSize,
      ...(groups ? { groupConcurrency: 1 } : {}),
    })
    if (jobs.length === 0) {
      if (!groups) return
      continue
    }
    for (const { data } of jobs) {
      if (inHand.has(data.numberId)) told.sideBySide++
      inHand.add(data.numberId)
    }
    await Promise.all(jobs.map(() => sendNothing()))
    told.handedOver += jobs.length
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
    // Free from now on; the next fetch may see it before this worker goes on.
    for (const { data } of jobs) inHand.delete(data.numberId)
    await client.query("commit")
    client.release()
  }
}
