/** The loop of leased work by itself, on the test clock, over a store of a few lines. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/error/StoreUnavailable.ts"
import type { WorkspaceId } from "../../src/id/Ids.ts"
import { isCrowded } from "../../src/limit/Held.ts"
import { WakeUp } from "../../src/queue/WakeUp.ts"
import { WorkStatus } from "../../src/queue/WorkStatus.ts"
import { makeLeasedLoop } from "../../src/worker/LeasedWork.ts"
import type { LeaseQuery, LeasedWork } from "../../src/worker/LeasedWork.ts"

const second = 1000
const leaseMillis = 30 * second

interface Job {
  readonly id: number
  readonly workspaceId: WorkspaceId
}

const jobs = (ids: ReadonlyArray<number>, workspace = 1): ReadonlyArray<Job> =>
  ids.map((id) => ({ id, workspaceId: workspace as WorkspaceId }))

const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1)

const unavailable = new StoreUnavailable({ operation: "a test", cause: "down" })

type Operation = "claim" | "settle" | "settleAndClaim" | "renew" | "giveBack" | "nextDue"

interface Given {
  readonly due?: ReadonlyArray<Job>
  readonly leased?: Partial<LeasedWork<Job, number>>
  /** What surrounds an operation of the store. */
  readonly around?: <A>(
    operation: Operation,
    effect: Effect.Effect<A, StoreUnavailable>,
  ) => Effect.Effect<A, StoreUnavailable>
  /** Settlements claim too; those of these jobs are due again. */
  readonly refills?: { readonly putOff: ReadonlyArray<number> }
  /** Leases are renewed. */
  readonly renews?: boolean
  /** What is held when the loop stops is given back. */
  readonly givesBack?: boolean
}

/** Many more turns than the loop needs to come to rest. */
const calm = Effect.repeat(Effect.yieldNow, { times: 200 })

/** Stops a loop, and gives it the time for which it waits then; tells how long that was. */
const stopped = (loop: Fiber.Fiber<never>) =>
  Effect.gen(function* () {
    const from = yield* Clock.currentTimeMillis
    const stopping = yield* Effect.forkDetach(Fiber.interrupt(loop))
    yield* calm
    while (stopping.pollUnsafe() === undefined) yield* TestClock.adjust(second)
    return (yield* Clock.currentTimeMillis) - from
  })

const aWorld = (given: Given = {}) => {
  const { around = (_, effect) => effect, refills } = given
  const due = [...(given.due ?? [])]
  const leases = new Map<number, { readonly job: Job; until: number }>()
  const asked: Array<Operation> = []
  const claims: Array<{ readonly limit: number; readonly held: unknown }> = []
  const settled: Array<ReadonlyArray<number>> = []
  const begun: Array<number> = []
  const interrupted: Array<number> = []
  const endings = new Map<number, Deferred.Deferred<number>>()

  const operation = <A>(name: Operation, make: () => A) =>
    around(
      name,
      Effect.sync(() => {
        asked.push(name)
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

  const leased: LeasedWork<Job, number> = {
    work: "lanes",
    capacity: { whole: 5, share: { most: 5 } },
    batch: 3,
    leaseMillis,
    workspaceOf: ({ workspaceId }) => workspaceId,
    claim: (query) => {
      claims.push({ limit: query.limit, held: Object.fromEntries(query.held) })
      return operation("claim", () => take(query))
    },
    // Begins, and ends when the test says so.
    perform: ({ id }) =>
      Effect.suspend(() => {
        begun.push(id)
        const ending = Deferred.makeUnsafe<number>()
        endings.set(id, ending)
        return Deferred.await(ending)
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => interrupted.push(id)))),
    settle: (ids) => operation("settle", () => forget(ids)),
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
    ...(given.renews === true && {
      renew: (held, until) =>
        operation("renew", () =>
          held.filter(({ id }) => {
            const lease = leases.get(id)
            if (lease !== undefined) lease.until = until
            return lease === undefined
          }),
        ),
    }),
    ...(given.givesBack === true && {
      giveBack: (held) =>
        operation("giveBack", () => {
          for (const { id } of held) leases.delete(id)
          due.push(...held)
        }),
    }),
    ...given.leased,
  }

  const status = Layer.mock(WorkStatus, {
    nextDue: (_work, crowded = []) =>
      operation("nextDue", () => {
        if (due.some(({ workspaceId }) => !isCrowded(crowded, workspaceId))) return 0
        const ends = Array.from(leases.values(), ({ until }) => until)
        return ends.length === 0 ? null : Math.min(...ends)
      }),
  })
  const services = Layer.merge(status, WakeUp.layerLocal)

  return {
    asked,
    begun,
    claims,
    due,
    interrupted,
    leases,
    settled,
    /** Runs a test beside the loop, which has come to rest. */
    within: <A, E>(test: (loop: Fiber.Fiber<never>) => Effect.Effect<A, E, Scope.Scope | WakeUp>) =>
      Effect.gen(function* () {
        const { run } = yield* makeLeasedLoop(leased)
        const loop = yield* Effect.acquireRelease(Effect.forkDetach(run), stopped)
        yield* calm
        return yield* test(loop)
      }).pipe(Effect.scoped, Effect.provide(services)),
    runOnce: Effect.flatMap(makeLeasedLoop(leased), ({ runOnce }) => runOnce).pipe(
      Effect.provide(services),
    ),
    /** Ends what was begun, together. */
    end: (...ids: ReadonlyArray<number>) =>
      Effect.andThen(
        Effect.forEach(ids, (id) => Deferred.succeed(endings.get(id)!, id)),
        calm,
      ),
  }
}

const wake = Effect.andThen(
  WakeUp.use((wakeUp) => wakeUp.wake("lanes")),
  calm,
)

describe("a loop of leased work", () => {
  it.effect("claims up to its room, and more when a place is free", () => {
    const { begun, claims, end, settled, within } = aWorld({ due: jobs(upTo(8)) })
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(begun, [1, 2, 3, 4, 5])
        assert.deepStrictEqual(
          claims.map(({ limit }) => limit),
          [3, 2],
        )
        yield* end(2)
        assert.deepStrictEqual(settled, [[2]])
        assert.deepStrictEqual(begun, [1, 2, 3, 4, 5, 6])
        // So little brings no workspace above its share.
        assert.deepStrictEqual(claims.at(-1), { limit: 1, held: {} })
      }),
    )
  })

  it.effect("holds of a workspace its share at most, and asks nothing meanwhile", () => {
    const { asked, begun, claims, due, end, within } = aWorld({
      due: [...jobs([1, 2, 3]), ...jobs([4], 2)],
      leased: { capacity: { whole: 5, share: { most: 2 } } },
    })
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(begun, [1, 2, 4])
        asked.length = 0
        yield* TestClock.adjust(20 * second)
        assert.deepStrictEqual(asked, [])
        due.push(...jobs([5, 6], 3))
        yield* wake
        assert.deepStrictEqual(claims.at(-1), { limit: 2, held: { 1: 2, 2: 1 } })
        assert.deepStrictEqual(begun, [1, 2, 4, 5, 6])
        yield* end(1)
        assert.deepStrictEqual(begun, [1, 2, 4, 5, 6, 3])
      }),
    )
  })

  it.effect("takes what its settlement frees, and wakes other loops only when it stops", () => {
    const { begun, end, within } = aWorld({ due: jobs(upTo(6)) })
    return within((loop) =>
      Effect.gen(function* () {
        const other = yield* (yield* WakeUp).sleeper("lanes")
        yield* other.close
        yield* end(1)
        assert.deepStrictEqual(begun, [1, 2, 3, 4, 5, 6])
        const waiting = yield* Effect.forkChild(other.await)
        yield* calm
        assert.isUndefined(waiting.pollUnsafe())
        const stopping = yield* Effect.forkDetach(Fiber.interrupt(loop))
        yield* calm
        yield* end(2, 3, 4, 5, 6)
        assert.isDefined(waiting.pollUnsafe())
        yield* Fiber.join(stopping)
      }),
    )
  })

  it.effect("asks nothing more after a claim that brought less than it asked for", () => {
    const { asked, within } = aWorld({ due: jobs([1, 2]) })
    return within(() => Effect.sync(() => assert.deepStrictEqual(asked, ["claim", "nextDue"])))
  })

  it.effect("settles together what ends while it settles", () => {
    const gate = Deferred.makeUnsafe<void>()
    const { end, settled, within } = aWorld({
      due: jobs(upTo(5)),
      around: (operation, effect) =>
        operation === "settle" ? Effect.andThen(Deferred.await(gate), effect) : effect,
    })
    return within(() =>
      Effect.gen(function* () {
        yield* end(1)
        yield* end(2, 3)
        yield* end(5)
        assert.deepStrictEqual(settled, [])
        yield* Deferred.succeed(gate, undefined)
        yield* calm
        assert.deepStrictEqual(settled, [[1], [2, 3, 5]])
      }),
    )
  })

  it.effect("begins another round when there was something else to do", () => {
    let others = 3
    const { asked, within } = aWorld({
      leased: { alsoEachRound: Effect.sync(() => others-- > 0) },
    })
    return within(() =>
      Effect.sync(() =>
        assert.deepStrictEqual(asked, ["claim", "claim", "claim", "claim", "nextDue"]),
      ),
    )
  })

  it.effect("can be driven by hand", () => {
    const { runOnce, settled } = aWorld({
      due: jobs(upTo(4)),
      leased: { perform: ({ id }) => Effect.succeed(id) },
    })
    return Effect.gen(function* () {
      assert.deepStrictEqual([yield* runOnce, yield* runOnce, yield* runOnce], [3, 1, 0])
      assert.deepStrictEqual(settled, [[1, 2, 3], [4]])
    })
  })
})

describe("a loop whose settlements claim", () => {
  it.effect("asks nothing else while each brings something", () => {
    const { asked, begun, due, end, settled, within } = aWorld({
      due: jobs([1]),
      refills: { putOff: [] },
    })
    return within(() =>
      Effect.gen(function* () {
        asked.length = 0
        for (const id of [2, 3, 4]) {
          due.push(...jobs([id]))
          yield* end(id - 1)
        }
        assert.deepStrictEqual(begun, [1, 2, 3, 4])
        assert.deepStrictEqual(settled, [[1], [2], [3]])
        assert.deepStrictEqual(asked, ["settleAndClaim", "settleAndClaim", "settleAndClaim"])
        yield* end(4)
        assert.deepStrictEqual(asked.slice(3), ["settleAndClaim", "claim", "nextDue"])
      }),
    )
  })

  it.effect("asks what is due next when something was put off", () => {
    const { asked, due, end, within } = aWorld({ due: jobs([1]), refills: { putOff: [1] } })
    return within(() =>
      Effect.gen(function* () {
        asked.length = 0
        due.push(...jobs([2]))
        yield* end(1)
        assert.deepStrictEqual(asked, ["settleAndClaim", "claim", "nextDue"])
      }),
    )
  })

  it.effect("begins nothing above the share, and has it again when its lease runs out", () => {
    const { begun, due, end, within } = aWorld({
      due: [...jobs([1, 2]), ...jobs([3], 2)],
      leased: { capacity: { whole: 5, share: { most: 2 } } },
      refills: { putOff: [] },
    })
    return within(() =>
      Effect.gen(function* () {
        due.push(...jobs([4]))
        yield* end(3)
        assert.deepStrictEqual(begun, [1, 2, 3])
        // What ended makes room before it is settled.
        due.push(...jobs([5]))
        yield* end(1)
        assert.deepStrictEqual(begun, [1, 2, 3, 5])
        yield* end(2, 5)
        yield* TestClock.adjust(leaseMillis)
        yield* calm
        assert.deepStrictEqual(begun, [1, 2, 3, 5, 4])
      }),
    )
  })
})

describe("a loop of two kinds of work", () => {
  const even = { whole: 4, share: { most: 2 } }
  const odd = { whole: 6, share: { most: 1 } }

  /** Claims keep to the share of the even ones. */
  const aWorldOfTwo = (due: Array<Job>, refilling: Effect.Effect<void> = Effect.void) => {
    const asked: Array<Pick<LeaseQuery, "limit" | "limitShared"> & { readonly held: unknown }> = []
    const take = ({ held, limit, limitShared }: LeaseQuery) => {
      asked.push({ limit, limitShared, held: Object.fromEntries(held) })
      return due.splice(0)
    }
    const world = aWorld({
      leased: {
        capacity: even,
        capacityOf: ({ id }) => (id % 2 === 0 ? even : odd),
        whole: 6,
        batch: 6,
        claim: (query) => Effect.sync(() => take(query)),
        refill: {
          settleAndClaim: (_, query) => Effect.as(refilling, take(query)),
          isPutOff: () => false,
        },
      },
    })
    return { ...world, asked }
  }

  it.effect("counts each by itself, and tells claims what it holds of one", () => {
    const due = [...jobs([1, 2, 4, 3, 6])]
    const { asked, begun, within } = aWorldOfTwo(due)
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(begun, [1, 2, 4])
        due.push(...jobs([5, 8], 2))
        yield* wake
        assert.deepStrictEqual(begun, [1, 2, 4, 5, 8])
        assert.deepStrictEqual(asked, [
          { limit: 6, limitShared: 4, held: {} },
          { limit: 3, limitShared: 2, held: { 1: 2 } },
        ])
      }),
    )
  })

  it.effect("takes nothing of what is shared while another of its claims is under way", () => {
    const gate = Deferred.makeUnsafe<void>()
    const due = [...jobs([2, 4])]
    const { asked, end, within } = aWorldOfTwo(due, Deferred.await(gate))
    const shared = () => asked.map(({ limitShared }) => limitShared)
    return within(() =>
      Effect.gen(function* () {
        yield* end(2)
        assert.deepStrictEqual(shared(), [4, 3])
        yield* wake
        assert.deepStrictEqual(shared(), [4, 3, 0])
        yield* Deferred.succeed(gate, undefined)
        yield* calm
        yield* wake
        assert.strictEqual(shared().at(-1), 3)
      }),
    )
  })
})

describe("a lease", () => {
  it.effect("is renewed at each third of it, as long as its work goes on", () => {
    const { asked, begun, end, leases, within } = aWorld({ due: jobs([1]), renews: true })
    const renewals = () => asked.filter((operation) => operation === "renew").length
    return within(() =>
      Effect.gen(function* () {
        yield* TestClock.adjust(leaseMillis * 4)
        assert.deepStrictEqual([begun, renewals()], [[1], 12])
        const now = yield* Clock.currentTimeMillis
        assert.strictEqual(leases.get(1)?.until, now + leaseMillis)
        yield* end(1)
        yield* TestClock.adjust(leaseMillis * 4)
        assert.strictEqual(renewals(), 12)
      }),
    )
  })

  it.effect("outlives a renewal that fails", () => {
    let failures = 1
    const { begun, leases, within } = aWorld({
      due: jobs([1]),
      renews: true,
      around: (operation, effect) =>
        operation === "renew" && failures-- > 0 ? Effect.fail(unavailable) : effect,
    })
    return within(() =>
      Effect.gen(function* () {
        yield* TestClock.adjust(leaseMillis)
        assert.deepStrictEqual(begun, [1])
        const now = yield* Clock.currentTimeMillis
        assert.strictEqual(leases.get(1)?.until, now + leaseMillis)
      }),
    )
  })

  it.effect("that is lost ends its work, unsettled, and leaves its place to other work", () => {
    const { begun, interrupted, leases, settled, within } = aWorld({
      due: jobs([1, 2]),
      leased: { capacity: { whole: 1, share: { most: 1 } } },
      renews: true,
    })
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(begun, [1])
        leases.delete(1)
        yield* TestClock.adjust(leaseMillis / 3)
        yield* calm
        assert.deepStrictEqual([interrupted, settled], [[1], []])
        assert.deepStrictEqual(begun, [1, 2])
      }),
    )
  })

  it.effect("runs out under work that breaks off by a bug, whose place is free at once", () => {
    let breaks = true
    const { begun, due, leases, settled, within } = aWorld({
      leased: {
        capacity: { whole: 1, share: { most: 1 } },
        perform: ({ id }) =>
          Effect.suspend(() => {
            begun.push(id)
            return breaks ? Effect.die(new Error("a bug")) : Effect.succeed(id)
          }),
      },
      renews: true,
    })
    return within(() =>
      Effect.gen(function* () {
        due.push(...jobs([1]))
        yield* wake
        breaks = false
        due.push(...jobs([2]))
        yield* wake
        assert.deepStrictEqual([begun, settled], [[1, 2], [[2]]])
        assert.deepStrictEqual([...leases.keys()], [1])
        yield* TestClock.adjust(leaseMillis)
        yield* calm
        assert.deepStrictEqual(
          [begun, settled],
          [
            [1, 2, 1],
            [[2], [1]],
          ],
        )
      }),
    )
  })
})

describe("a loop that is stopped", () => {
  it.effect("claims nothing more, and settles what ends within 8 s", () => {
    const { begun, due, end, interrupted, settled, within } = aWorld({
      due: jobs([1, 2]),
      refills: { putOff: [] },
    })
    return within((loop) =>
      Effect.gen(function* () {
        due.push(...jobs([3]))
        const stopping = yield* Effect.forkChild(stopped(loop))
        yield* calm
        yield* end(2)
        assert.deepStrictEqual(settled, [[2]])
        assert.strictEqual(yield* Fiber.join(stopping), 8 * second)
        assert.deepStrictEqual([begun, interrupted], [[1, 2], [1]])
      }),
    )
  })

  it.effect("is gone once everything has ended", () => {
    const { end, settled, within } = aWorld({ due: jobs([1]) })
    return within((loop) =>
      Effect.gen(function* () {
        const stopping = yield* Effect.forkChild(Fiber.interrupt(loop))
        yield* calm
        assert.isUndefined(stopping.pollUnsafe())
        yield* end(1)
        assert.isDefined(stopping.pollUnsafe())
        assert.deepStrictEqual(settled, [[1]])
      }),
    )
  })

  it.effect("performs what a claim brings that it had begun", () => {
    const { begun, end, settled, within } = aWorld({
      due: jobs([1]),
      around: (operation, effect) =>
        operation === "claim" ? Effect.delay(effect, second) : effect,
    })
    return within((loop) =>
      Effect.gen(function* () {
        const stopping = yield* Effect.forkChild(Fiber.interrupt(loop))
        yield* calm
        yield* TestClock.adjust(second)
        yield* calm
        assert.deepStrictEqual(begun, [1])
        yield* end(1)
        assert.deepStrictEqual(settled, [[1]])
        yield* Fiber.join(stopping)
      }),
    )
  })

  it.effect("gives its work back at once, where others can go on with it", () => {
    const { asked, due, interrupted, leases, settled, within } = aWorld({
      due: jobs([1, 2]),
      givesBack: true,
    })
    return within((loop) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* stopped(loop), 0)
        assert.deepStrictEqual([interrupted, settled], [[1, 2], []])
        assert.strictEqual(asked.at(-1), "giveBack")
        assert.deepStrictEqual([due.length, leases.size], [2, 0])
      }),
    )
  })

  it.effect("is held up by a store that does not answer for a second only", () => {
    const { within } = aWorld({
      due: jobs([1]),
      givesBack: true,
      around: (operation, effect) => (operation === "giveBack" ? Effect.never : effect),
    })
    return within((loop) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* stopped(loop), second)
      }),
    )
  })
})

describe("a store that fails", () => {
  it.effect("is asked four times a second to settle, until it does", () => {
    let down = true
    const { begun, end, settled, within } = aWorld({
      due: jobs(upTo(6)),
      around: (operation, effect) =>
        operation === "settle" && down ? Effect.fail(unavailable) : effect,
    })
    return within(() =>
      Effect.gen(function* () {
        yield* end(1)
        yield* TestClock.adjust(10 * second)
        yield* end(2)
        assert.deepStrictEqual([begun, settled], [upTo(5), []])
        down = false
        yield* TestClock.adjust(250)
        yield* calm
        assert.deepStrictEqual([begun, settled], [upTo(6), [[1], [2]]])
      }),
    )
  })

  it.effect("by a bug of its adapter settles the rest, and has the work again", () => {
    let broken = true
    const { begun, end, leases, settled, within } = aWorld({
      due: jobs([1, 2]),
      around: (operation, effect) =>
        operation === "settle" && broken ? Effect.die(new Error("a bug")) : effect,
    })
    return within(() =>
      Effect.gen(function* () {
        yield* end(1)
        broken = false
        yield* end(2)
        assert.deepStrictEqual([settled, [...leases.keys()]], [[[2]], [1]])
        yield* TestClock.adjust(leaseMillis)
        yield* calm
        assert.deepStrictEqual(begun, [1, 2, 1])
      }),
    )
  })

  it.effect("is asked for work with growing pauses, and all is done when it answers", () => {
    let down = true
    const { begun, claims, within } = aWorld({
      due: jobs([1]),
      around: (operation, effect) =>
        operation === "claim" && down ? Effect.fail(unavailable) : effect,
    })
    return within(() =>
      Effect.gen(function* () {
        yield* TestClock.adjust(60 * second)
        assert.isAtMost(claims.length, 18)
        down = false
        yield* TestClock.adjust(5 * second)
        yield* calm
        assert.deepStrictEqual(begun, [1])
      }),
    )
  })
})
