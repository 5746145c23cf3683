/**
 * graphile-worker doing a dispatcher's work, in no order of numbers: with a queue for each number it would be
 * slower by an order of magnitude. It completes a job in a statement of its own, after the job's transaction.
 */
import { Effect, Schedule } from "effect"
import { Logger, runMigrations, runOnce } from "graphile-worker"
import { openPool } from "../database/BenchDatabase.ts"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { check } from "../measuring/checks.ts"
import type { Queue } from "./Queue.ts"
import { jobSql, sendNothing, writeSent } from "./sentMessage.ts"
import type { Job } from "./sentMessage.ts"

const pool = 10

const quiet = new Logger(() => () => undefined)

export const openGraphileWorker = Effect.fnUntraced(function* openGraphileWorker(
  database: BenchDatabase,
) {
  const pgPool = yield* openPool(database, { max: pool })
  yield* Effect.promise(() => runMigrations({ pgPool, logger: quiet }))

  const opened: Queue = {
    name: "graphile-worker",
    fill: Effect.gen(function* fill() {
      yield* database.query(`
        select graphile_worker.add_job(
          'dispatch', payload := ${jobSql}::json, run_at := m.due_at
        )
        from messages m
        order by m.due_at`)
      yield* database.query("analyze")
    }),
    dispatch: (workers, count) =>
      Effect.promise(async () => {
        const told = { handedOver: 0 }
        // Workers that find nothing leave.
        while (told.handedOver < count) {
          await runOnce({
            pgPool,
            logger: quiet,
            concurrency: workers,
            noHandleSignals: true,
            taskList: {
              dispatch: async (payload, { withPgClient }) => {
                const job = payload as Job
                await sendNothing()
                told.handedOver++
                await withPgClient(async (client) => {
                  await client.query("begin")
                  await writeSent(client, [job])
                  await client.query("commit")
                })
              },
            },
          })
        }
        return told.handedOver
      }),
    checkDone: () =>
      database.count("select count(*) from graphile_worker.jobs").pipe(
        // The last completions may still be on their way when the workers leave.
        Effect.repeat({
          until: (left) => left === 0,
          times: 50,
          schedule: Schedule.spaced("100 millis"),
        }),
        Effect.flatMap((left) => check("jobs left", left, 0)),
      ),
  }
  return opened
})
