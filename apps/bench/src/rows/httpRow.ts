/**
 * `POST /messages` over HTTP, against pgbench with the same statements. "direct" gives the service a
 * pool so large that no call ever waits, so that each goes alone; "coalesced" is the usual pool, on
 * which calls that would wait go together.
 */
import { Effect } from "effect"
import { emptyOut, loadWorkspace, loadWorkspaces } from "../database/fixture.ts"
import { runScript } from "../database/Script.ts"
import { postScript } from "../database/sendScripts.ts"
import { check, checkAccepted } from "../measuring/checks.ts"
import type { Candidate, Row } from "../measuring/Comparison.ts"
import { serveHttp, startLoad } from "../serving/processes.ts"

/** The service's own default. */
const usualPool = 10

/** A quarter of the pool is each hot call's share: enough for 32 clients, each alone. */
const roomyPool = 4 * 32

/** Of the one workspace: many keys, because each may ask 60 times a minute. */
const owned = { keys: 4000, numbers: 200 }

const ratioClaim = (candidate: string, clients: number, atLeast: number) => ({
  name: `${candidate} / pgbench, ${clients} clients`,
  numerator: candidate,
  denominator: `pgbench, ${clients} clients`,
  limit: { atLeast },
})

export const httpRow: Row = {
  id: "http",
  title: "POST /messages over HTTP / pgbench with the same SQL",
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, pgbench, sizes }) {
    const database = yield* makeDatabase
    yield* loadWorkspaces(database, sizes.workspaces)
    const one = yield* loadWorkspace(database, owned)
    const direct = yield* serveHttp(database, roomyPool)
    const coalesced = yield* serveHttp(database, usualPool)
    const send = yield* startLoad
    const { seconds } = sizes

    const statements = (clients: number): Candidate => ({
      name: `pgbench, ${clients} clients`,
      run: Effect.gen(function* run() {
        yield* emptyOut(database)
        const script = postScript(sizes.workspaces)
        const outcome = yield* runScript(pgbench, database, script, { clients, seconds })
        yield* checkAccepted(database, outcome.done)
        return outcome.perSecond
      }),
    })
    const http = (name: string, url: string, clients: number, oneWorkspace = false): Candidate => ({
      name,
      run: Effect.gen(function* run() {
        yield* emptyOut(database)
        const report = yield* send({
          url,
          clients,
          seconds,
          keys: oneWorkspace
            ? { from: one.firstKey, to: one.firstKey + owned.keys - 1 }
            : { from: 1, to: sizes.workspaces },
          firstNumber: oneWorkspace ? one.firstNumber : null,
        })
        const done = report.statuses["202"] ?? 0
        const answers = Object.values(report.statuses).reduce((sum, count) => sum + count, 0)
        yield* check(`answers 202 of ${JSON.stringify(report.statuses)}`, done, answers)
        yield* checkAccepted(database, done)
        return done / report.seconds
      }),
    })
    return {
      unit: "per second",
      candidates: [
        statements(8),
        http("direct, 8 clients", direct, 8),
        http("coalesced, 8 clients", coalesced, 8),
        statements(32),
        http("direct, 32 clients", direct, 32),
        http("coalesced, 32 clients", coalesced, 32),
        http("one workspace, 32 clients", coalesced, 32, true),
      ],
      ratios: [
        ratioClaim("direct, 8 clients", 8, 0.4),
        ratioClaim("coalesced, 8 clients", 8, 0.6),
        ratioClaim("direct, 32 clients", 32, 0.4),
        ratioClaim("coalesced, 32 clients", 32, 0.6),
        {
          name: "one workspace / many workspaces, 32 senders",
          numerator: "one workspace, 32 clients",
          denominator: "coalesced, 32 clients",
          limit: { atLeast: 0.8 },
        },
      ],
      notes: [
        "pgbench: the three statements of a send, as three transactions",
        `direct: a pool of ${roomyPool}; coalesced: the usual pool of ${usualPool}`,
        "one workspace: one number at a time, another after 900 messages (a number takes 1,000 a day)",
      ],
    }
  }),
}
