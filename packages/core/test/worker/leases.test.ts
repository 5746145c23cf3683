/** The leases of the loop of leased work on the test clock, over a store of a few lines. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import { StopMillis } from "../../src/worker/LeaseLoop.ts"
import { aLoop, leaseMillis, second, stopped, settle, jobs, upTo, wake } from "./LeasedJobs.ts"

const unavailable = new StoreUnavailable({ operation: "a test", cause: "down" })

describe("a lease", () => {
  it.effect("is renewed at each third of it while its work continues", () => {
    const { requests, started, end, leases, within } = aLoop({ due: jobs([1]), renews: true })
    const renewals = () => requests.filter((operation) => operation === "renew").length
    return within(() =>
      Effect.gen(function* () {
        yield* TestClock.adjust(leaseMillis * 4)
        assert.deepStrictEqual([started, renewals()], [[1], 12])
        const now = yield* Clock.currentTimeMillis
        assert.strictEqual(leases.get(1)?.until, now + leaseMillis)
        yield* end(1)
        yield* TestClock.adjust(leaseMillis * 4)
        assert.strictEqual(renewals(), 12)
      }),
    )
  })

  it.effect("survives a failed renewal", () => {
    let failures = 1
    const { started, leases, within } = aLoop({
      due: jobs([1]),
      renews: true,
      around: (operation, effect) =>
        operation === "renew" && failures-- > 0 ? Effect.fail(unavailable) : effect,
    })
    return within(() =>
      Effect.gen(function* () {
        yield* TestClock.adjust(leaseMillis)
        assert.deepStrictEqual(started, [1])
        const now = yield* Clock.currentTimeMillis
        assert.strictEqual(leases.get(1)?.until, now + leaseMillis)
      }),
    )
  })

  it.effect("ends its unsettled work when it is lost, and frees the permit", () => {
    const { started, interrupted, leases, settled, within } = aLoop({
      due: jobs([1, 2]),
      leased: { capacity: { whole: 1, share: { most: 1 } } },
      renews: true,
    })
    return within(() =>
      Effect.gen(function* () {
        assert.deepStrictEqual(started, [1])
        leases.delete(1)
        yield* TestClock.adjust(leaseMillis / 3)
        yield* settle
        assert.deepStrictEqual([interrupted, settled], [[1], []])
        assert.deepStrictEqual(started, [1, 2])
      }),
    )
  })

  it.effect("runs out when its work fails by a bug, and the permit is free at once", () => {
    let breaks = true
    const { started, due, leases, settled, within } = aLoop({
      leased: {
        capacity: { whole: 1, share: { most: 1 } },
        perform: ({ id }) =>
          Effect.suspend(() => {
            started.push(id)
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
        assert.deepStrictEqual([started, settled], [[1, 2], [[2]]])
        assert.deepStrictEqual([...leases.keys()], [1])
        yield* TestClock.adjust(leaseMillis)
        yield* settle
        assert.deepStrictEqual(
          [started, settled],
          [
            [1, 2, 1],
            [[2], [1]],
          ],
        )
      }),
    )
  })
})

describe("a stopped loop", () => {
  it.effect("claims nothing more, and settles what ends within 8 s", () => {
    const { started, due, end, interrupted, settled, within } = aLoop({
      due: jobs([1, 2]),
      refills: { putOff: [] },
    })
    return within((loop) =>
      Effect.gen(function* () {
        due.push(...jobs([3]))
        const stopping = yield* Effect.forkChild(stopped(loop))
        yield* settle
        yield* end(2)
        assert.deepStrictEqual(settled, [[2]])
        assert.strictEqual(yield* Fiber.join(stopping), 8 * second)
        assert.deepStrictEqual([started, interrupted], [[1, 2], [1]])
      }),
    )
  })

  it.effect("gives its turns back", () => {
    const { started, end, settled, within } = aLoop({
      due: jobs([1]),
      follows: new Map([[1, 11]]),
    })
    return within((loop) =>
      Effect.gen(function* () {
        const stopping = yield* Effect.forkDetach(stopped(loop))
        yield* settle
        yield* end(1)
        yield* Fiber.join(stopping)
        assert.deepStrictEqual(settled, [[-1]])
        assert.deepStrictEqual(started, [1])
      }),
    )
  })

  it.effect("waits no longer than configured", () => {
    const { within } = aLoop({ due: jobs([1]) })
    return within((loop) =>
      Effect.gen(function* () {
        const stopping = yield* Effect.forkChild(stopped(loop))
        assert.strictEqual(yield* Fiber.join(stopping), 2 * second)
      }),
    ).pipe(Effect.provideService(StopMillis, 2 * second))
  })

  it.effect("is gone once everything has ended", () => {
    const { end, settled, within } = aLoop({ due: jobs([1]) })
    return within((loop) =>
      Effect.gen(function* () {
        const stopping = yield* Effect.forkChild(Fiber.interrupt(loop))
        yield* settle
        assert.isUndefined(stopping.pollUnsafe())
        yield* end(1)
        assert.isDefined(stopping.pollUnsafe())
        assert.deepStrictEqual(settled, [[1]])
      }),
    )
  })

  it.effect("performs what a claim in flight brings", () => {
    const { started, end, settled, within } = aLoop({
      due: jobs([1]),
      around: (operation, effect) =>
        operation === "claim" ? Effect.delay(effect, second) : effect,
    })
    return within((loop) =>
      Effect.gen(function* () {
        const stopping = yield* Effect.forkChild(Fiber.interrupt(loop))
        yield* settle
        yield* TestClock.adjust(second)
        yield* settle
        assert.deepStrictEqual(started, [1])
        yield* end(1)
        assert.deepStrictEqual(settled, [[1]])
        yield* Fiber.join(stopping)
      }),
    )
  })

  it.effect("hands its work back at once where others can continue it", () => {
    const { requests, due, interrupted, leases, settled, within } = aLoop({
      due: jobs([1, 2]),
      refunds: true,
    })
    return within((loop) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* stopped(loop), 0)
        assert.deepStrictEqual([interrupted, settled], [[1, 2], []])
        assert.strictEqual(requests.at(-1), "giveBack")
        assert.deepStrictEqual([due.length, leases.size], [2, 0])
      }),
    )
  })

  it.effect("waits only a second for an unresponsive store", () => {
    const { within } = aLoop({
      due: jobs([1]),
      refunds: true,
      around: (operation, effect) => (operation === "giveBack" ? Effect.never : effect),
    })
    return within((loop) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* stopped(loop), second)
      }),
    )
  })
})

describe("a failing store", () => {
  it.effect("is asked four times a second to settle, until it does", () => {
    let down = true
    const { started, end, settled, within } = aLoop({
      due: jobs(upTo(6)),
      around: (operation, effect) =>
        operation === "settle" && down ? Effect.fail(unavailable) : effect,
    })
    return within(() =>
      Effect.gen(function* () {
        yield* end(1)
        yield* TestClock.adjust(10 * second)
        yield* end(2)
        assert.deepStrictEqual([started, settled], [upTo(5), []])
        down = false
        yield* TestClock.adjust(250)
        yield* settle
        assert.deepStrictEqual([started, settled], [upTo(6), [[1], [2]]])
      }),
    )
  })

  it.effect("with a bug in its adapter still settles the rest, and returns the work", () => {
    let broken = true
    const { started, end, leases, settled, within } = aLoop({
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
        yield* settle
        assert.deepStrictEqual(started, [1, 2, 1])
      }),
    )
  })

  it.effect("is polled with growing pauses, and everything is done when it answers", () => {
    let down = true
    const { started, claims, within } = aLoop({
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
        yield* settle
        assert.deepStrictEqual(started, [1])
      }),
    )
  })
})
