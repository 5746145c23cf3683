/** A loop over jobs: a test can watch and break their claims, settlements and renewals. */
import { Clock, Deferred, Effect, Fiber, Layer } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import type { WorkspaceId } from "../../src/model/Ids.ts"
import { isSaturated } from "../../src/model/Bulkhead.ts"
import { WakeUp } from "../../src/store/DueWork.ts"
import { makeLeasedLoop } from "../../src/worker/LeaseLoop.ts"
import type { LeasedWork, LeaseQuery } from "../../src/worker/LeaseLoop.ts"
import { storeWith } from "@messaging-service/testkit"

export const second = 1000

export const leaseMillis = 30 * second

export interface Job {
  readonly id: number
  readonly workspaceId: WorkspaceId
}

export const jobs = (ids: ReadonlyArray<number>, workspace = 1): ReadonlyArray<Job> =>
  ids.map((id) => ({ id, workspaceId: workspace as WorkspaceId }))

export const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1)

type Operation =
  | "claim"
  | "settle"
  | "settleAndClaim"
  | "renew"
  | "reclaim"
  | "giveBack"
  | "nextDue"

interface Given {
  readonly due?: ReadonlyArray<Job>
  readonly leased?: Partial<LeasedWork<Job, number>>
  /** Wraps an operation of the store. */
  readonly around?: <A>(
    operation: Operation,
    effect: Effect.Effect<A, StoreUnavailable>,
  ) => Effect.Effect<A, StoreUnavailable>
  /** Settlements claim too; these jobs are due again. */
  readonly refills?: { readonly putOff: ReadonlyArray<number> }
  readonly renews?: boolean
  /** Claimed jobs begin only under a live lease. */
  readonly reclaims?: boolean
  /** Held jobs are handed back when the loop stops. */
  readonly refunds?: boolean
  /** What follows a job in its turn. A result below zero gave the rest of the turn back. */
  readonly follows?: ReadonlyMap<number, number>
  /** Whether a worker may go on with a job. */
  readonly mayGoOn?: (id: number) => boolean
}

/** Many more turns than the loop needs to become idle. */
export const settle = Effect.repeat(Effect.yieldNow, { times: 200 })

/** Stops a loop, and supplies the time it waits for; returns how long that was. */
export const stopped = (loop: Fiber.Fiber<never>) =>
  Effect.gen(function* () {
    const from = yield* Clock.currentTimeMillis
    const stopping = yield* Effect.forkDetach(Fiber.interrupt(loop))
    yield* settle
    while (stopping.pollUnsafe() === undefined) yield* TestClock.adjust(second)
    return (yield* Clock.currentTimeMillis) - from
  })

export const aLoop = (overrides: Given = {}) => {
  const { around = (_, effect) => effect, follows, refills } = overrides
  /** The end of leases under which a turn continues. */
  const nextUntil = { at: leaseMillis }
  const due = [...(overrides.due ?? [])]
  const leases = new Map<number, { readonly job: Job; until: number }>()
  const requests: Array<Operation> = []
  const claims: Array<{ readonly limit: number; readonly held: unknown }> = []
  const settled: Array<ReadonlyArray<number>> = []
  const started: Array<number> = []
  const interrupted: Array<number> = []
  const endings = new Map<number, Deferred.Deferred<number>>()

  const operation = <A>(name: Operation, make: () => A) =>
    around(
      name,
      Effect.sync(() => {
        requests.push(name)
        return make()
      }),
    )

  const take = ({ held, leaseUntil, limit, now, perWorkspace }: LeaseQuery) => {
    for (const [id, { job, until }] of leases) {
      if (until <= now && leases.delete(id)) due.push(job)
    }
    const taken = new Map(held)
    const claimed = due.filter(({ workspaceId }) => {
      const count = taken.get(workspaceId) ?? 0
      if (count >= perWorkspace) return false
      taken.set(workspaceId, count + 1)
      return true
    })
    return claimed.slice(0, limit).map((job) => {
      due.splice(due.indexOf(job), 1)
      leases.set(job.id, { job, until: leaseUntil })
      return { ...job }
    })
  }

  const forget = (ids: ReadonlyArray<number>) => {
    settled.push(ids)
    for (const id of ids) leases.delete(id)
  }

  const getFollowing = (job: Job, at: number, ids: ReadonlyArray<number>) => {
    const id = (ids[at] ?? 0) > 0 ? follows?.get(job.id) : undefined
    if (id === undefined) return []
    const claimed = { ...job, id }
    leases.set(id, { job: claimed, until: nextUntil.at })
    return [[job, { claimed, leaseUntil: nextUntil.at }] as const]
  }

  const leased: LeasedWork<Job, number> = {
    work: "lanes",
    capacity: { whole: 5, share: { most: 5 } },
    batch: 3,
    leaseMillis,
    toWorkspaceId: ({ workspaceId }) => workspaceId,
    claim: (query) => {
      claims.push({ limit: query.limit, held: Object.fromEntries(query.held) })
      return operation("claim", () => take(query))
    },
    // Begins, and ends when the test says so.
    perform: ({ id }) =>
      Effect.suspend(() => {
        started.push(id)
        const ending = Deferred.makeUnsafe<number>()
        endings.set(id, ending)
        return Deferred.await(ending)
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => interrupted.push(id)))),
    settle: (ids, ended) =>
      operation("settle", () => {
        forget(ids)
        const next = new Map(ended.flatMap((job, at) => getFollowing(job, at, ids)))
        return { blockedByLock: [], next, comesAgain: follows === undefined }
      }),
    ...(follows !== undefined && {
      turns: {
        most: 16,
        mayGoOn: Effect.succeed(({ id }) => overrides.mayGoOn?.(id) ?? true),
        endingTurn: (id) => -id,
      },
    }),
    ...(refills !== undefined && {
      refill: {
        settleAndClaim: (ids, query) =>
          operation("settleAndClaim", () => {
            forget(ids)
            // The store cannot count what the worker still performs.
            return take({ ...query, held: new Map() })
          }),
        isPutOff: (id) => refills.putOff.includes(id),
      },
    }),
    ...(overrides.renews === true && {
      renew: (held, until) =>
        operation("renew", () =>
          held.filter(({ id }) => {
            const lease = leases.get(id)
            if (lease !== undefined) lease.until = until
            return lease === undefined
          }),
        ),
    }),
    ...(overrides.reclaims === true && {
      reclaim: (claimed, until) =>
        operation("reclaim", () =>
          claimed.filter(({ id }) => {
            const lease = leases.get(id)
            if (lease !== undefined) lease.until = until
            return lease !== undefined
          }),
        ),
    }),
    ...(overrides.refunds === true && {
      release: (held) =>
        operation("giveBack", () => {
          for (const { id } of held) leases.delete(id)
          due.push(...held)
        }),
    }),
    ...overrides.leased,
  }

  const status = storeWith({
    queue: {
      nextDue: (_work, saturated = []) =>
        operation("nextDue", () => {
          if (due.some(({ workspaceId }) => !isSaturated(saturated, workspaceId))) return 0
          const ends = Array.from(leases.values(), ({ until }) => until)
          return ends.length === 0 ? null : Math.min(...ends)
        }),
    },
  })
  const services = Layer.merge(status, WakeUp.layerLocal)

  return {
    requests,
    started,
    claims,
    due,
    interrupted,
    leases,
    nextUntil,
    settled,
    /** Runs a test on an idle loop. */
    within: <A, E>(test: (loop: Fiber.Fiber<never>) => Effect.Effect<A, E, Scope.Scope | WakeUp>) =>
      Effect.gen(function* () {
        const { run } = yield* makeLeasedLoop(leased)
        const loop = yield* Effect.acquireRelease(Effect.forkDetach(run), stopped)
        yield* settle
        return yield* test(loop)
      }).pipe(Effect.scoped, Effect.provide(services)),
    runOnce: Effect.flatMap(makeLeasedLoop(leased), ({ runOnce }) => runOnce).pipe(
      Effect.provide(services),
    ),
    end: (...ids: ReadonlyArray<number>) =>
      Effect.andThen(
        Effect.forEach(ids, (id) => Deferred.succeed(endings.get(id)!, id)),
        settle,
      ),
  }
}

export const wake = Effect.andThen(
  WakeUp.use((wakeUp) => wakeUp.wake("lanes")),
  settle,
)
