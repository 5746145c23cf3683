/** The loop of leased work on the test clock, over a store of a few lines. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { WakeUp } from "../../src/store/DueWork.ts"
import type { LeaseQuery } from "../../src/worker/LeaseLoop.ts"
import { aLoop, leaseMillis, second, settle, jobs, upTo, wake } from "./LeasedJobs.ts"
import type { Job } from "./LeasedJobs.ts"

describe("a loop of leased work", () => {
  it.effect("claims up to its free permits, and more when one is released", () => {
    const { started, claims, end, settled, within } = aLoop({ due: jobs(upTo(8)) })
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(started, [1, 2, 3, 4, 5])
        assert.deepStrictEqual(
          claims.map(({ limit }) => limit),
          [3, 2],
        )
        yield* end(2)
        assert.deepStrictEqual(settled, [[2]])
        assert.deepStrictEqual(started, [1, 2, 3, 4, 5, 6])
        // Too few to bring a workspace above its share.
        assert.deepStrictEqual(claims.at(-1), { limit: 1, held: {} })
      }),
    )
  })

  it.effect("holds at most a workspace's share, and makes no calls meanwhile", () => {
    const { requests, started, claims, due, end, within } = aLoop({
      due: [...jobs([1, 2, 3]), ...jobs([4], 2)],
      leased: { capacity: { whole: 5, share: { most: 2 } } },
    })
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(started, [1, 2, 4])
        requests.length = 0
        yield* TestClock.adjust(20 * second)
        assert.deepStrictEqual(requests, [])
        due.push(...jobs([5, 6], 3))
        yield* wake
        assert.deepStrictEqual(claims.at(-1), { limit: 2, held: { 1: 2, 2: 1 } })
        assert.deepStrictEqual(started, [1, 2, 4, 5, 6])
        yield* end(1)
        assert.deepStrictEqual(started, [1, 2, 4, 5, 6, 3])
      }),
    )
  })

  it.effect(
    "begins to look where it found work, and at the beginning for what it overlooked",
    () => {
      const waiting = [...jobs(upTo(4))]
      const since: Array<number | null> = []
      const { due, started, within } = aLoop({
        leased: {
          capacity: { whole: 10, share: { most: 10 } },
          toDueSince: ({ id }) => id * second,
          claim: ({ dueSince, limit }) =>
            Effect.sync(() => {
              since.push(dueSince)
              return dueSince === null && due.length > 0 ? due.splice(0) : waiting.splice(0, limit)
            }),
        },
      })
      return within(() =>
        Effect.gen(function* () {
          // One second before the first of what was found: others may commit late.
          assert.deepStrictEqual(since, [null, 0])
          yield* wake
          assert.deepStrictEqual(since.splice(0), [null, 0, 3 * second])
          due.push(...jobs([5]))
          yield* wake
          yield* wake
          assert.deepStrictEqual(since.splice(0), [3 * second, null])
          assert.deepStrictEqual(started, [1, 2, 3, 4, 5])
          yield* wake
          yield* TestClock.adjust(2 * second)
          yield* wake
          assert.deepStrictEqual(since, [4 * second, null])
        }),
      )
    },
  )

  it.effect("looks from the beginning while a workspace has its share", () => {
    const since: Array<number | null> = []
    const waiting = [...jobs([1, 2, 3]), ...jobs([4, 5], 2)]
    const { end, within } = aLoop({
      leased: {
        capacity: { whole: 5, share: { most: 3 } },
        toDueSince: ({ id }) => id * second,
        claim: ({ dueSince, limit }) =>
          Effect.sync(() => {
            since.push(dueSince)
            return waiting.splice(0, limit)
          }),
      },
    })
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(since, [null, null])
        waiting.push(...jobs([6], 2))
        yield* end(1)
        assert.deepStrictEqual(since, [null, null, null])
        yield* end(2)
        assert.deepStrictEqual(since.slice(3), [null])
      }),
    )
  })

  it.effect("goes on with what follows, and asks for nothing meanwhile", () => {
    const follows = new Map([
      [1, 11],
      [11, 12],
    ])
    const { requests, started, end, settled, within } = aLoop({ due: jobs([1, 2]), follows })
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(started, [1, 2])
        requests.length = 0
        yield* end(1)
        yield* end(11)
        yield* end(12)
        yield* end(2)
        assert.deepStrictEqual(started, [1, 2, 11, 12])
        assert.deepStrictEqual(settled, [[1], [11], [12], [2]])
        assert.deepStrictEqual(requests, ["settle", "settle", "settle", "settle"])
        yield* wake
        assert.deepStrictEqual(requests.slice(4), ["claim", "nextDue"])
      }),
    )
  })

  it.effect("gives a turn back once it is old and others wait for a place", () => {
    const follows = new Map([
      [1, 11],
      [11, 12],
      [2, 21],
    ])
    const { started, end, settled, within } = aLoop({ due: jobs(upTo(6)), follows })
    return within(() =>
      Effect.gen(function* () {
        yield* TestClock.adjust(499)
        yield* end(1)
        yield* TestClock.adjust(1)
        yield* end(11)
        assert.deepStrictEqual(started, [1, 2, 3, 4, 5, 11, 6])
        yield* end(3)
        yield* end(2)
        assert.deepStrictEqual(settled, [[1], [-11], [-3], [2]])
        assert.deepStrictEqual(started.slice(7), [21])
      }),
    )
  })

  it.effect("gives back what it may not go on with", () => {
    const { started, end, settled, within } = aLoop({
      due: jobs([1, 2]),
      follows: new Map([
        [1, 11],
        [2, 21],
      ]),
      mayGoOn: (id) => id !== 1,
    })
    return within(() =>
      Effect.gen(function* () {
        yield* end(1, 2)
        assert.deepStrictEqual(settled, [[-1, 2]])
        assert.deepStrictEqual(started, [1, 2, 21])
      }),
    )
  })

  it.effect.each([
    ["has ended", 0],
    ["ends before its first renewal", leaseMillis * 0.4],
  ] as const)("goes on only once the lease is renewed that %s", ([, until]) => {
    const { requests, started, end, leases, nextUntil, within } = aLoop({
      due: jobs([1, 2]),
      follows: new Map([
        [1, 11],
        [2, 21],
      ]),
      reclaims: true,
      around: (operation, effect) =>
        operation === "reclaim"
          ? Effect.andThen(
              Effect.sync(() => leases.delete(11)),
              effect,
            )
          : effect,
    })
    return within(() =>
      Effect.gen(function* () {
        nextUntil.at = until
        yield* end(1, 2)
        assert.include(requests, "reclaim")
        assert.deepStrictEqual(started, [1, 2, 21])
      }),
    )
  })

  it.effect("settles blocked work later, and all else meanwhile", () => {
    const settled: Array<ReadonlyArray<number>> = []
    let isHeld = true
    const { started, end, within } = aLoop({
      due: jobs(upTo(7)),
      leased: {
        settle: (results) =>
          Effect.sync(() => {
            settled.push(results)
            const blockedByLock = isHeld ? results.filter((result) => result === 1) : []
            return { blockedByLock, next: new Map(), comesAgain: true }
          }),
      },
    })
    return within(() =>
      Effect.gen(function* () {
        yield* end(1)
        assert.deepStrictEqual(settled, [[1]])
        // It keeps its permit.
        assert.deepStrictEqual(started, [1, 2, 3, 4, 5])
        yield* end(2)
        assert.deepStrictEqual(settled, [[1], [2]])
        assert.deepStrictEqual(started, [1, 2, 3, 4, 5, 6])
        yield* TestClock.adjust(second)
        assert.isTrue(settled.length > 2 && settled.slice(2).every(([only]) => only === 1))
        isHeld = false
        yield* TestClock.adjust(second)
        const { length } = settled
        yield* TestClock.adjust(second)
        assert.lengthOf(settled, length)
        assert.deepStrictEqual(started, [1, 2, 3, 4, 5, 6, 7])
      }),
    )
  })

  it.effect("takes what its settlement frees, and wakes other loops only when it stops", () => {
    const { started, end, within } = aLoop({ due: jobs(upTo(6)) })
    return within((loop) =>
      Effect.gen(function* () {
        const other = yield* (yield* WakeUp).latch("lanes")
        yield* other.close
        yield* end(1)
        assert.deepStrictEqual(started, [1, 2, 3, 4, 5, 6])
        const waiting = yield* Effect.forkChild(other.await)
        yield* settle
        assert.isUndefined(waiting.pollUnsafe())
        const stopping = yield* Effect.forkDetach(Fiber.interrupt(loop))
        yield* settle
        yield* end(2, 3, 4, 5, 6)
        assert.isDefined(waiting.pollUnsafe())
        yield* Fiber.join(stopping)
      }),
    )
  })

  it.effect("claims no more after an incomplete claim", () => {
    const { requests, within } = aLoop({ due: jobs([1, 2]) })
    return within(() => Effect.sync(() => assert.deepStrictEqual(requests, ["claim", "nextDue"])))
  })

  it.effect("settles together what ends during a settlement", () => {
    const gate = Deferred.makeUnsafe<void>()
    const { end, settled, within } = aLoop({
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
        yield* settle
        assert.deepStrictEqual(settled, [[1], [2, 3, 5]])
      }),
    )
  })

  it.effect("starts another round after other work", () => {
    let others = 3
    const { requests, within } = aLoop({
      leased: { alsoEachRound: Effect.sync(() => others-- > 0) },
    })
    return within(() =>
      Effect.sync(() =>
        assert.deepStrictEqual(requests, ["claim", "claim", "claim", "claim", "nextDue"]),
      ),
    )
  })

  it.effect("begins only what no other worker took, when a claim's answer was late", () => {
    const { requests, started, leases, within } = aLoop({
      due: jobs([1, 2]),
      reclaims: true,
      around: (operation, effect) => {
        if (operation === "claim") return Effect.tap(effect, () => Effect.sleep(leaseMillis))
        // Its first answer is slow too.
        const isFirst = operation === "reclaim" && !requests.includes("reclaim")
        return isFirst ? Effect.tap(effect, () => Effect.sleep(leaseMillis)) : effect
      },
    })
    return within(() =>
      Effect.gen(function* () {
        leases.delete(2)
        yield* TestClock.adjust(leaseMillis)
        yield* settle
        assert.deepStrictEqual(started, [])
        yield* TestClock.adjust(leaseMillis)
        yield* settle
        assert.deepStrictEqual(started, [1])
        assert.strictEqual(requests.filter((operation) => operation === "reclaim").length, 2)
      }),
    )
  })

  it.effect("can be driven by hand", () => {
    const { runOnce, settled } = aLoop({
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
  it.effect("makes no other call while each one brings something", () => {
    const { requests, started, due, end, settled, within } = aLoop({
      due: jobs([1]),
      refills: { putOff: [] },
    })
    return within(() =>
      Effect.gen(function* () {
        requests.length = 0
        for (const id of [2, 3, 4]) {
          due.push(...jobs([id]))
          yield* end(id - 1)
        }
        assert.deepStrictEqual(started, [1, 2, 3, 4])
        assert.deepStrictEqual(settled, [[1], [2], [3]])
        assert.deepStrictEqual(requests, ["settleAndClaim", "settleAndClaim", "settleAndClaim"])
        yield* end(4)
        assert.deepStrictEqual(requests.slice(3), ["settleAndClaim", "claim", "nextDue"])
      }),
    )
  })

  it.effect("asks for the next due time after postponing a job", () => {
    const { requests, due, end, within } = aLoop({ due: jobs([1]), refills: { putOff: [1] } })
    return within(() =>
      Effect.gen(function* () {
        requests.length = 0
        due.push(...jobs([2]))
        yield* end(1)
        assert.deepStrictEqual(requests, ["settleAndClaim", "claim", "nextDue"])
      }),
    )
  })

  it.effect("begins nothing above the share, and regains it when its lease ends", () => {
    const { started, due, end, within } = aLoop({
      due: [...jobs([1, 2]), ...jobs([3], 2)],
      leased: { capacity: { whole: 5, share: { most: 2 } } },
      refills: { putOff: [] },
    })
    return within(() =>
      Effect.gen(function* () {
        due.push(...jobs([4]))
        yield* end(3)
        assert.deepStrictEqual(started, [1, 2, 3])
        // What ended frees its permit before it settles.
        due.push(...jobs([5]))
        yield* end(1)
        assert.deepStrictEqual(started, [1, 2, 3, 5])
        yield* end(2, 5)
        yield* TestClock.adjust(leaseMillis)
        yield* settle
        assert.deepStrictEqual(started, [1, 2, 3, 5, 4])
      }),
    )
  })
})

describe("a loop of two kinds of work", () => {
  const even = { whole: 4, share: { most: 2 } }
  const odd = { whole: 6, share: { most: 1 } }

  /** Claims keep to the share of the even ones. */
  const aWorldOfTwo = (due: Array<Job>, refilling: Effect.Effect<void> = Effect.void) => {
    const requests: Array<Pick<LeaseQuery, "limit" | "limitShared"> & { readonly held: unknown }> =
      []
    const take = ({ held, limit, limitShared }: LeaseQuery) => {
      requests.push({ limit, limitShared, held: Object.fromEntries(held) })
      return due.splice(0)
    }
    const world = aLoop({
      leased: {
        capacity: even,
        toCapacity: ({ id }) => (id % 2 === 0 ? even : odd),
        whole: 6,
        batch: 6,
        claim: (query) => Effect.sync(() => take(query)),
        refill: {
          settleAndClaim: (_, query) => Effect.as(refilling, take(query)),
          isPutOff: () => false,
        },
      },
    })
    return { ...world, requests }
  }

  it.effect("counts each separately, and passes the count to claims", () => {
    const due = [...jobs([1, 2, 4, 3, 6])]
    const { requests, started, within } = aWorldOfTwo(due)
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(started, [1, 2, 4])
        due.push(...jobs([5, 8], 2))
        yield* wake
        assert.deepStrictEqual(started, [1, 2, 4, 5, 8])
        assert.deepStrictEqual(requests, [
          { limit: 6, limitShared: 4, held: {} },
          { limit: 3, limitShared: 2, held: { 1: 2 } },
        ])
      }),
    )
  })

  it.effect("takes nothing of a shared resource during another claim", () => {
    const gate = Deferred.makeUnsafe<void>()
    const due = [...jobs([2, 4])]
    const { requests, end, within } = aWorldOfTwo(due, Deferred.await(gate))
    const shared = () => requests.map(({ limitShared }) => limitShared)
    return within(() =>
      Effect.gen(function* () {
        yield* end(2)
        assert.deepStrictEqual(shared(), [4, 3])
        yield* wake
        assert.deepStrictEqual(shared(), [4, 3, 0])
        yield* Deferred.succeed(gate, undefined)
        yield* settle
        yield* wake
        assert.strictEqual(shared().at(-1), 3)
      }),
    )
  })
})
