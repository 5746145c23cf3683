/**
 * Campaigns on real processes and PostgreSQL: each row becomes one message or none, whichever process dies, pauses,
 * resumes or stops meanwhile, and others keep their room. What counts is what the phones saw.
 */
import { assert } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { bySize, processes } from "@messaging-service/testkit"
import { Effect, Fiber, Random } from "effect"
import { checkAccounts } from "./crash/accounts.ts"
import { withDatabase } from "./crash/books.ts"
import { aSender, emptyLedger, recipients } from "./crash/Clients.ts"
import type { Sender } from "./crash/Clients.ts"
import type { PostgresCluster } from "./crash/Cluster.ts"
import { clusterTest, crashTest, runLoad } from "./crash/Storm.ts"

const day = 24 * 60 * 60

let named = 0

const someRows = (count: number) =>
  Array.from({ length: count }, () => {
    const n = named++
    return { to: { phone: recipients[n % recipients.length] }, values: { text: `row ${n}` } }
  })

interface Run {
  readonly id: number
  readonly rows: number
}

type Action = "start" | "pause" | "resume" | "stop"

/** The campaigns of a workspace, as its operator uses them. */
const makeCampaigns = (cluster: PostgresCluster, { workspaceId }: Pick<Sender, "workspaceId">) => {
  const path = `/admin/v1/workspaces/${workspaceId}/campaigns`
  const added = (at: string, body: unknown) =>
    Effect.map(cluster.operate("POST", at, body, `campaigns ${named++}`), (reply) => {
      assert.strictEqual(reply.status, 201, JSON.stringify(reply.body))
      return reply.body
    })
  const changed = (method: string, at: string, body?: unknown) =>
    Effect.map(cluster.operate(method, at, body), (reply) => {
      const isOver = reply.body?.error?.code === "campaign_ended"
      assert.isTrue(reply.status === 200 || isOver, JSON.stringify(reply.body))
      return isOver ? "ended" : (reply.body.state as string)
    })
  return {
    start: Effect.fnUntraced(function* (rows: number, reserve = 0) {
      const settings = { name: "Storm", text: "{text}", quota_reserve: reserve }
      const { id } = yield* added(path, settings)
      for (let left = rows; left > 0; left -= 1000) {
        yield* added(`${path}/${id}/rows`, { rows: someRows(Math.min(left, 1000)) })
      }
      assert.include(["running", "done"], yield* changed("POST", `${path}/${id}/start`))
      const run: Run = { id, rows }
      return run
    }),
    act: ({ id }: Run, action: Action) => changed("POST", `${path}/${id}/${action}`),
    change: ({ id }: Run, body: unknown) => changed("PATCH", `${path}/${id}`, body),
    read: ({ id }: Run) =>
      Effect.map(cluster.operate("GET", `${path}/${id}`), ({ body }) => ({
        state: body.state as string,
        rows: body.rows as Readonly<Record<string, number>>,
      })),
  }
}

type Campaigns = ReturnType<typeof makeCampaigns>

/** Whatever it waits for has come: it is done or stopped. */
const awaitEnds = (
  cluster: PostgresCluster,
  { act, read }: Campaigns,
  runs: ReadonlyArray<Run>,
  seconds = 300,
) =>
  Effect.gen(function* () {
    for (const run of runs) yield* act(run, "resume")
    yield* processes.waitUntil(
      "every campaign has ended",
      Effect.gen(function* () {
        yield* cluster.advance(seconds)
        yield* cluster.settle
        const states = yield* Effect.forEach(runs, read)
        return states.every(({ state }) => ["done", "stopped"].includes(state)) ? true : undefined
      }),
    )
  })

/** Each row has one message or none, and counts are what the phones saw. */
const checkRuns = ({ read }: Campaigns, runs: ReadonlyArray<Run>) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const torn = yield* sql`
      select r.campaign_id, r.row, r.state, count(m.id)
      from campaign_rows r
      left join messages m on m.campaign_id = r.campaign_id
        and m.campaign_row = r.row
      group by r.campaign_id, r.row, r.state
      having count(m.id) <> case r.state when 'taken' then 1 else 0 end`
    assert.deepStrictEqual(torn, [])
    const copies = yield* sql<{ readonly id: number; readonly copies: number }>`
      select m.campaign_id::int as id, count(*)::int as copies
      from messages m
      join simulated_sent s on s.number_id = m.number_id
        and s.transport_id = m.transport_id
      where m.campaign_id is not null
      group by m.campaign_id`
    const seen = new Map(copies.map((one) => [one.id, one.copies]))
    for (const run of runs) {
      const { rows, state } = yield* read(run)
      const { cancelled = 0, sent = 0, skipped = 0 } = rows
      const what = JSON.stringify({ ...run, state, rows })
      assert.deepStrictEqual(
        [rows["total"], sent + cancelled + skipped],
        [run.rows, run.rows],
        what,
      )
      assert.strictEqual(sent, seen.get(run.id) ?? 0, what)
      if (state === "done") assert.strictEqual(sent, run.rows, what)
    }
    return yield* checkAccounts(emptyLedger())
  })

crashTest(
  "a row of a campaign is neither lost nor sent twice",
  (cluster, kills) =>
    Effect.gen(function* () {
      const sender = yield* aSender(cluster)
      const campaigns = makeCampaigns(cluster, sender)
      const runs: Array<Run> = []
      let left = bySize({ change: 300, all: 2400, night: 2800 })
      const pause = Effect.flatMap(Random.nextIntBetween(0, 300), Effect.sleep)
      const runOne = Effect.gen(function* () {
        const rows = Math.min(left, yield* Random.nextIntBetween(30, 90))
        left -= rows
        if (rows === 0) return yield* pause
        const run = yield* campaigns.start(rows)
        runs.push(run)
        while ((yield* Random.nextIntBetween(0, 2)) > 0) {
          yield* pause
          yield* campaigns.act(run, "pause")
          yield* campaigns.change(run, { name: `Storm ${named++}` })
          yield* campaigns.act(run, "resume")
        }
        yield* pause
        if ((yield* Random.nextIntBetween(0, 3)) === 0) yield* campaigns.act(run, "stop")
      })
      // Many a process dies while a take or a stop of it waits for the lock of a number.
      const holdLane = Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const number = sender.numberIds[yield* Random.nextIntBetween(0, 2)] ?? 0
        const lock = sql`select from lanes where number_id = ${number} for update`
        yield* sql.withTransaction(Effect.andThen(lock, pause))
      }).pipe(withDatabase(cluster), Effect.andThen(pause), Effect.orDie)
      yield* runLoad(cluster, { kills, clients: [runOne, runOne, runOne, holdLane] })
      // Leases of the dead expire.
      yield* awaitEnds(cluster, campaigns, runs)
      const states = yield* checkRuns(campaigns, runs).pipe(withDatabase(cluster))
      yield* Effect.logInfo("rows of campaigns", { campaigns: runs.length, ...states })
      assert.isAbove(states["sent"] ?? 0, kills)
    }),
  bySize({ change: 2, all: 12, night: 60 }),
)

clusterTest("a worker cancels what the process of a stop left behind", (cluster) =>
  Effect.gen(function* () {
    const sender = yield* aSender(cluster)
    for (const number of sender.numberIds) {
      yield* cluster.operate("PUT", `/admin/v1/simulator/numbers/${number}/behaviour`, {
        latency_ms: 300,
      })
    }
    const campaigns = makeCampaigns(cluster, sender)
    const run = yield* campaigns.start(100)
    yield* processes.waitUntil(
      "rows wait",
      Effect.map(campaigns.read(run), ({ rows }) => ((rows["queued"] ?? 0) > 5 ? true : undefined)),
    )
    // What gives allowance back waits, so that the stop is committed and no cancel is.
    const stopping = yield* Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      return yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`select from workspaces where id = ${sender.workspaceId} for update`
          const stop = yield* Effect.forkScoped(campaigns.act(run, "stop"))
          yield* processes.waitUntil(
            "the stop is committed",
            Effect.map(
              sql`select from campaigns where id = ${run.id} and state = 'stopped'`,
              (found) => (found.length > 0 ? true : undefined),
            ),
          )
          yield* cluster.kill("server")
          // What it had asked of the database would still be done.
          yield* sql`
            select pg_terminate_backend(a.pid)
            from pg_stat_activity a
            where a.datname = current_database()
              and a.wait_event_type = 'Lock'`
          return stop
        }),
      )
    }).pipe(withDatabase(cluster))
    assert.strictEqual(yield* Fiber.join(stopping), "stopped")
    yield* awaitEnds(cluster, campaigns, [run])
    const states = yield* checkRuns(campaigns, [run]).pipe(withDatabase(cluster))
    assert.isAbove(states["cancelled"] ?? 0, 0)
  }),
)

/** When nothing of a campaign may leave but what is in flight, from an answer on. */
interface Quiet {
  readonly from: number
  until: number
}

/** A campaign that many callers act on. */
const watched = (run: Run, { act }: Campaigns) => {
  const quiet: Array<Quiet> = []
  let resumes = 0
  let underWay = 0
  const resume = Effect.gen(function* () {
    resumes++
    underWay++
    for (const one of quiet) one.until = Math.min(one.until, Date.now())
    yield* act(run, "resume")
    underWay--
  })
  const halt = (action: "pause" | "stop") =>
    Effect.gen(function* () {
      const before = resumes
      const isAlone = underWay === 0
      const state = yield* act(run, action)
      const isHalted = state === "paused" || state === "stopped"
      if (isHalted && isAlone && before === resumes)
        quiet.push({ from: Date.now(), until: Infinity })
    })
  return { run, quiet, resume, halt }
}

clusterTest("nothing leaves after a pause or a stop but what was in flight", (cluster) =>
  Effect.gen(function* () {
    const sender = yield* aSender(cluster)
    const more = yield* Effect.replicateEffect(
      cluster.builders.aNumber({ id: sender.workspaceId }),
      3,
    )
    const campaigns = makeCampaigns(cluster, sender)
    const rows = bySize({ change: 60, all: 300, night: 1000 })
    const runs = yield* Effect.replicateEffect(campaigns.start(rows), 5)
    const all = runs.map((run) => watched(run, campaigns))
    let left = bySize({ change: 100, all: 300, night: 2000 })
    const call = Effect.gen(function* () {
      left--
      const one = all[yield* Random.nextIntBetween(0, 4)]!
      const action = yield* Random.nextIntBetween(0, 99)
      // Two of them may be stopped.
      if (action < 2) yield* all[action]!.halt("stop")
      else if (action < 40) yield* one.halt("pause")
      else if (action < 75) yield* one.resume
      else yield* campaigns.change(one.run, { quota_reserve: action })
      yield* Effect.flatMap(Random.nextIntBetween(0, 200), Effect.sleep)
    })
    const caller = Effect.repeat(call, { while: () => left > 0 })
    yield* Effect.forEach(Array.from({ length: 10 }), () => caller, { concurrency: 10 })
    for (const { resume } of all) yield* resume
    yield* awaitEnds(cluster, campaigns, runs)
    const states = yield* Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      let pauses = 0
      for (const { quiet, run } of all) {
        for (const { from, until } of quiet) {
          const handedOver = yield* sql`
            select s.at
            from messages m
            join simulated_sent s on s.number_id = m.number_id
              and s.transport_id = m.transport_id
            where m.campaign_id = ${run.id}
              and s.at > ${new Date(from)}
              and s.at < ${new Date(Math.min(until, from + 1_000_000))}`
          assert.isAtMost(handedOver.length, sender.numberIds.length + more.length)
          if (until - from > 50) pauses++
        }
      }
      assert.isAbove(pauses, 0)
      return yield* checkRuns(campaigns, runs)
    }).pipe(withDatabase(cluster))
    assert.isAbove(states["sent"] ?? 0, 0)
  }),
)

clusterTest(
  "campaigns leave single sends their reserve, and no window exceeds the limit",
  (cluster) =>
    Effect.gen(function* () {
      const reserve = 900
      const sender = yield* aSender(cluster)
      const [from = 0, ...others] = sender.numberIds
      const campaigns = makeCampaigns(cluster, sender)
      for (const number of others) {
        const path = `/admin/v1/workspaces/${sender.workspaceId}/numbers/${number}`
        assert.strictEqual((yield* cluster.operate("DELETE", path)).status, 200)
      }
      const sql = <A, E>(check: Effect.Effect<A, E, PgClient.PgClient>) =>
        withDatabase(cluster)(check)
      const readFull = sql(
        Effect.flatMap(
          PgClient.PgClient,
          (client) => client`select quota_full_until from lanes where quota_full_until is not null`,
        ),
      )
      const runs = yield* Effect.replicateEffect(campaigns.start(60, reserve), 3)
      for (let passed = 0; passed < bySize({ change: 1, all: 2, night: 3 }); passed++) {
        yield* cluster.settle
        for (let sent = 0; sent < reserve; sent += 100) {
          const to = Array.from({ length: 100 }, (_, n) => ({
            phone: recipients[n % recipients.length],
          }))
          const { body, status } = yield* cluster.request("POST", "/api/v2/messages/batch", {
            token: sender.keys[(sent / 100) % sender.keys.length]!,
            body: { to, from, text: `single ${named++}` },
          })
          assert.strictEqual(status, 202, JSON.stringify(body))
          assert.deepStrictEqual(yield* readFull, [])
        }
        yield* cluster.settle
        yield* cluster.advance(day)
      }
      yield* awaitEnds(cluster, campaigns, runs, day)
      yield* sql(
        Effect.gen(function* () {
          const client = yield* PgClient.PgClient
          const full = yield* client`
          select m.id
          from messages m
          where (
            select count(*)
            from messages other
            where other.number_id = m.number_id
              and other.sent_at > m.sent_at - interval '24 hours'
              and other.sent_at <= m.sent_at
          ) > 1000`
          assert.deepStrictEqual(full, [])
        }),
      )
      assert.deepStrictEqual(yield* readFull, [])
      for (const run of runs)
        assert.strictEqual((yield* campaigns.read(run)).rows["sent"], run.rows)
    }),
)
