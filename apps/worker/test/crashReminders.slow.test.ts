/** Reminders under SIGKILL (contract: Reminder runs). */
import { assert } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect } from "effect"
import { processes } from "@messaging-service/testkit"
import { aSender } from "./crash/Clients.ts"
import type { Sender } from "./crash/Clients.ts"
import type { Cluster } from "./crash/Cluster.ts"
import { passTime, withDatabase } from "./crash/books.ts"
import { clusterTest, crashTest, runLoad } from "./crash/Storm.ts"

const minute = 60_000
const hour = 60 * minute

/** A pattern with due times `every` milliseconds apart, `offset` after a multiple of that. */
interface Pattern {
  readonly cron: string
  readonly every: number
  readonly offset: number
}

const everyMinute: Pattern = { cron: "* * * * *", every: minute, offset: 0 }

interface Run {
  readonly dueAt: number
  readonly ranAt: number
  readonly outcome: string
  readonly messageId: number | null
}

/** A reminder's entry in its log. */
interface Log {
  readonly createdAt: number
  readonly nextRunAt: number
  readonly runs: ReadonlyArray<Run>
}

const aReminder = (cluster: Cluster, { keys, numberIds }: Sender, index: number, cron: string) =>
  Effect.gen(function* () {
    const { body, status } = yield* cluster.request("POST", "/api/v2/reminders", {
      token: keys[0]!,
      body: {
        name: cron,
        from: numberIds[index],
        to: { phone: "+447946000010" },
        text: "reminder",
        schedule: { cron },
      },
    })
    assert.strictEqual(status, 201, JSON.stringify(body))
    return body.id as number
  })

const readLog = (id: number) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const [reminder] = yield* sql<{ readonly created_at: Date; readonly next_run_at: Date }>`
      select created_at, next_run_at
      from reminders
      where id = ${id}`
    const runs = yield* sql<Run>`
      select
        (extract(epoch from due_at) * 1000)::float8 as "dueAt",
        (extract(epoch from ran_at) * 1000)::float8 as "ranAt",
        outcome,
        message_id::int as "messageId"
      from reminder_runs
      where reminder_id = ${id}
      order by id`
    const log: Log = {
      createdAt: reminder!.created_at.getTime(),
      nextRunAt: reminder!.next_run_at.getTime(),
      runs,
    }
    return log
  })

/** The latest due time up to a moment. */
const latest = ({ every, offset }: Pattern, instant: number) =>
  Math.floor((instant - offset) / every) * every + offset

/** All due times after one moment and before another. */
const dueBetween = (pattern: Pattern, after: number, before: number) => {
  const times: Array<number> = []
  for (let due = latest(pattern, after) + pattern.every; due < before; due += pattern.every) {
    times.push(due)
  }
  return times
}

/** In any case: each message belongs to one run, and its recipient saw it once. */
const checkMessages = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const wrong = yield* sql`
    select m.id, m.state, runs.count as runs, copies.count as copies
    from messages m
    join lateral (
      select count(*) from reminder_runs r where r.message_id = m.id
    ) runs on true
    join lateral (
      select count(*) from simulated_sent s where s.transport_id = m.transport_id
    ) copies on true
    where m.state <> 'sent'
      or runs.count <> 1
      or copies.count <> 1`
  assert.deepStrictEqual(wrong, [])
})

crashTest("a reminder makes one message for each due time", (cluster, kills) =>
  Effect.gen(function* () {
    const patterns: ReadonlyArray<Pattern> = [
      everyMinute,
      everyMinute,
      { cron: "*/5 * * * *", every: 5 * minute, offset: 0 },
      { cron: "7 * * * *", every: hour, offset: 7 * minute },
    ]
    const senders = yield* Effect.replicateEffect(aSender(cluster), 3)
    const reminders: Array<readonly [Pattern, number]> = []
    for (const sender of senders) {
      for (const [index, pattern] of patterns.entries()) {
        const id = yield* aReminder(cluster, sender, index % sender.numberIds.length, pattern.cron)
        reminders.push([pattern, id])
      }
    }

    yield* runLoad(cluster, { kills, clients: [cluster.advance(150)] })
    yield* cluster.settle

    let runs = 0
    yield* withDatabase(cluster)(
      Effect.gen(function* () {
        for (const [pattern, id] of reminders) {
          const log = yield* readLog(id)
          const created = log.runs.map(({ dueAt, outcome }) => ({ dueAt, outcome }))
          const due = dueBetween(pattern, log.createdAt, log.nextRunAt)
          assert.deepStrictEqual(
            created,
            due.map((dueAt) => ({ dueAt, outcome: "accepted" })),
            `reminder ${id}, ${pattern.cron}: once for each due time, none left out`,
          )
          runs += created.length
        }
        yield* checkMessages
      }),
    )
    yield* Effect.logInfo("reminders", { runs })
    assert.isAbove(runs, kills)
  }),
)

clusterTest("of runs missed for hours the latest of the last hour is made up", (cluster) =>
  Effect.gen(function* () {
    const sender = yield* aSender(cluster)
    const start = yield* cluster.now
    // Due half an hour into an outage of three hours: too old at its end.
    const daily = new Date(start + 30 * minute)
    const hourly: Pattern = { cron: "0 * * * *", every: hour, offset: 0 }
    const minutes = yield* aReminder(cluster, sender, 0, everyMinute.cron)
    const hours = yield* aReminder(cluster, sender, 1, hourly.cron)
    const days = yield* aReminder(
      cluster,
      sender,
      2,
      `${daily.getUTCMinutes()} ${daily.getUTCHours()} * * *`,
    )

    yield* Effect.forEach(cluster.members, cluster.stop, { discard: true })
    const end = (yield* withDatabase(cluster)(passTime(3 * hour))) + Date.now()
    yield* Effect.forEach(cluster.members, cluster.start, { discard: true })
    yield* cluster.allReady

    const check = withDatabase(cluster)
    yield* check(
      processes.waitUntil(
        "every reminder has been looked at",
        Effect.map(Effect.forEach([minutes, hours, days], readLog), (logs) =>
          logs.every(({ nextRunAt }) => nextRunAt > end) ? logs : undefined,
        ),
      ),
    )
    yield* cluster.settle

    for (const [id, pattern] of [
      [minutes, everyMinute],
      [hours, hourly],
    ] as const) {
      const { runs } = yield* check(readLog(id))
      const after = runs.filter(({ ranAt }) => ranAt >= end)
      assert.isNotEmpty(after)
      assert.strictEqual(after[0]!.dueAt, latest(pattern, after[0]!.ranAt), "the latest one")
      const times = runs.map(({ dueAt }) => dueAt)
      assert.deepStrictEqual(times, [...new Set(times)].toSorted(), "no due time twice")
      const during = times.filter((due) => due > start + 2 * minute && due < end - hour)
      assert.deepStrictEqual(during, [], "nothing older is made up")
      assert.deepStrictEqual([...new Set(runs.map(({ outcome }) => outcome))], ["accepted"])
    }
    const { nextRunAt, runs } = yield* check(readLog(days))
    const due = latest({ cron: "", every: minute, offset: 0 }, daily.getTime())
    assert.deepStrictEqual(
      runs.map(({ dueAt, messageId, outcome }) => ({ dueAt, messageId, outcome })),
      [{ dueAt: due, messageId: null, outcome: "missed" }],
    )
    assert.strictEqual(nextRunAt, due + 24 * hour)
    yield* check(checkMessages)
  }),
)
