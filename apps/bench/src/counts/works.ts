/** The works that are counted, with the most that each may cost. A change that costs more says so here. */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { emptyOut, loadWaiting, loadWorkspaces } from "../database/fixture.ts"
import { openPool } from "../database/BenchDatabase.ts"
import { check, checkSent } from "../measuring/checks.ts"
import type { CheckFailed } from "../measuring/checks.ts"
import { openServiceQueue } from "../queues/service.ts"
import { serveHttp, startLoad } from "../serving/processes.ts"
import { measureCost } from "./Cost.ts"
import type { Cost } from "./Cost.ts"

export interface Counted {
  readonly name: string
  readonly value: number
  readonly atMost: number
}

export interface Work {
  readonly id: string
  readonly title: string
  /** On a database with nothing in it. */
  readonly count: (
    database: BenchDatabase,
  ) => Effect.Effect<ReadonlyArray<Counted>, CheckFailed, Scope.Scope>
}

type Limits = Partial<Record<keyof Cost, number>>

const names: Readonly<Record<keyof Cost, string>> = {
  wal: "bytes of WAL",
  entries: "index entries",
  messageEntries: "index entries of messages",
  dead: "dead tuples",
  lanes: "versions of lanes",
  buffers: "buffers",
  statements: "statements",
  commits: "commits",
}

/** For each of `count`. */
const perOne = (cost: Cost, count: number, limits: Limits): ReadonlyArray<Counted> =>
  Object.entries(limits).map(([key, atMost]) => ({
    name: names[key as keyof Cost],
    value: cost[key as keyof Cost] / count,
    atMost,
  }))

const openDispatch = Effect.fnUntraced(function* openDispatch(
  database: BenchDatabase,
  numbers: number,
) {
  yield* loadWorkspaces(database, numbers)
  const queue = yield* openServiceQueue(database)
  /** Dispatches that many, dealt out to the numbers; the cost of only this. */
  return Effect.fnUntraced(function* dispatch(count: number, workers = 1) {
    yield* loadWaiting(database, count, { from: 1, to: numbers })
    let handedOver = 0
    const cost = yield* measureCost(
      database,
      Effect.map(queue.dispatch(workers, count), (all) => (handedOver = all)),
    )
    yield* check("messages handed over", handedOver, count)
    yield* queue.checkDone(count)
    return cost
  })
})

const dispatchWork = (
  id: string,
  title: string,
  [numbers, count]: readonly [number, number],
  limits: Limits,
): Work => ({
  id,
  title,
  count: Effect.fnUntraced(function* (database) {
    const dispatch = yield* openDispatch(database, numbers)
    // Plans and pages are made.
    yield* dispatch(count)
    yield* emptyOut(database)
    const cost = yield* dispatch(count)
    yield* checkSent(database, count, count)
    return perOne(cost, count, limits)
  }),
})

const roundsHeld = { rounds: 9, messages: 5000, numbers: 1000, workers: 8 }

/** A transaction elsewhere keeps every version that is replaced. */
const heldWork: Work = {
  id: "held",
  title: `dispatch beside a transaction that stays open, ${roundsHeld.workers} workers`,
  count: Effect.fnUntraced(function* (database) {
    const { messages, numbers, rounds, workers } = roundsHeld
    const dispatch = yield* openDispatch(database, numbers)
    yield* dispatch(messages, workers)
    const pool = yield* openPool(database, { max: 1, idleTimeoutMillis: 0 })
    yield* Effect.promise(() => pool.query("begin isolation level repeatable read"))
    yield* Effect.promise(() => pool.query("select 1"))
    const costs = yield* Effect.forEach(Array.from({ length: rounds }), () =>
      dispatch(messages, workers),
    )
    const [first, last] = [costs.at(0), costs.at(-1)].map((cost) => cost?.buffers ?? 0)
    return [
      {
        name: `buffers after ${(rounds * messages).toLocaleString("en")} messages, last to first`,
        value: (last ?? 0) / (first ?? 1),
        atMost: 2.4,
      },
    ]
  }),
}

const postWork: Work = {
  id: "post",
  title: "POST /messages, 8 clients of many workspaces",
  count: Effect.fnUntraced(function* (database) {
    const workspaces = 500
    yield* loadWorkspaces(database, workspaces)
    const url = yield* serveHttp(database, 10)
    const send = yield* startLoad
    let accepted = 0
    const load = Effect.map(
      send({
        url,
        clients: 8,
        seconds: 2,
        keys: { from: 1, to: workspaces },
        firstNumber: null,
      }),
      ({ statuses }) => (accepted = statuses["202"] ?? 0),
    )
    yield* load
    const cost = yield* measureCost(database, load)
    return perOne(cost, accepted, { statements: 1.9, messageEntries: 5.2 })
  }),
}

export const works: ReadonlyArray<Work> = [
  dispatchWork("dispatch", "dispatch, 1 worker, 10 messages of each number", [1000, 10_000], {
    wal: 1950,
    entries: 9.5,
    // On a busy machine turns at a worker's capacity end early.
    dead: 1.6,
    buffers: 58,
    statements: 0.1,
  }),
  dispatchWork("one number", "dispatch, 1 worker, all messages of one number", [1, 160], {
    statements: 1.25,
    commits: 1.2,
    lanes: 0.2,
  }),
  heldWork,
  postWork,
]
