/**
 * Dispatching: the service's loop, against a job queue that does the same work. Each candidate starts
 * with the same messages waiting and is done when every one was handed over, is marked as sent and
 * has its event in the outbox, and its job is over.
 */
import { Effect } from "effect"
import { emptyOut, loadWaiting, loadWorkspaces } from "../database/fixture.ts"
import { checkSent } from "../measuring/checks.ts"
import type { Candidate, Row } from "../measuring/Comparison.ts"
import { openPgBoss } from "../queues/pgBoss.ts"
import type { Queue } from "../queues/Queue.ts"
import { openServiceQueue } from "../queues/service.ts"

const numbers = 1000

export const dispatchRow: Row = {
  id: "dispatch",
  title: "full dispatch / pg-boss doing the same work",
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, sizes }) {
    const database = yield* makeDatabase
    yield* loadWorkspaces(database, numbers)
    const service = yield* openServiceQueue(database)
    const pgBoss = yield* openPgBoss(database)

    const candidate = (queue: Queue, workers: number): Candidate => ({
      name: `${queue.name}, ${workers === 1 ? "1 worker" : `${workers} workers`}`,
      run: Effect.gen(function* run() {
        const count = sizes.dispatched
        yield* emptyOut(database)
        yield* loadWaiting(database, count, { from: 1, to: numbers })
        yield* queue.fill
        const started = performance.now()
        const handedOver = yield* queue.dispatch(workers, count)
        const seconds = (performance.now() - started) / 1000
        yield* checkSent(database, count, handedOver)
        yield* queue.checkDone(count)
        return count / seconds
      }),
    })
    const ratioClaim = (rival: string, workers: string, atLeast: number) => ({
      name: `service / ${rival}, ${workers}`,
      numerator: `service, ${workers}`,
      denominator: `${rival}, ${workers}`,
      limit: { atLeast },
    })
    return {
      unit: "per second",
      candidates: [
        candidate(service, 8),
        candidate(pgBoss, 8),
        candidate(service, 1),
        candidate(pgBoss, 1),
      ],
      ratios: [ratioClaim("pg-boss", "8 workers", 1.5), ratioClaim("pg-boss", "1 worker", 2)],
      notes: [
        `${sizes.dispatched.toLocaleString("en")} messages on ${numbers.toLocaleString("en")} numbers; all workers of a candidate share one process and a pool of 10`,
        "service: the dispatch loop over a transport that accepts at once; one message of a number at a time, in order",
        "pg-boss: fetches 64 jobs, hands each to a function that does nothing, then in one transaction marks the messages (one set-based update), inserts their events (one set-based insert) and completes the jobs; without per-number ordering",
      ],
    }
  }),
}
