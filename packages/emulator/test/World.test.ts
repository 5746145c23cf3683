/** An idle world: exact idleness, one clock, one seed, and processes that can be killed. */
import { Clock, Deferred, Effect, Fiber } from "effect"
import { assert, describe, it } from "vitest"
import { World } from "../src/World.ts"
import type { Process, WorldOptions } from "../src/World.ts"

const start = Date.UTC(2026, 0, 1)

const aWorld = (options: Partial<WorldOptions> = {}) => {
  const world = new World({ seed: "a", start, ...options })
  return { world, process: world.process("one") }
}

const run = <A, E>(process: Process, effect: Effect.Effect<A, E>) =>
  Effect.runForkWith(process.context)(effect)

/** Several fibers that record their names, with a yield between two. */
const writers = (process: Process, written: Array<string>) =>
  run(
    process,
    Effect.forEach(
      ["a", "b", "c", "d"],
      (name) =>
        Effect.repeat(
          Effect.andThen(
            Effect.sync(() => written.push(name)),
            Effect.yieldNow,
          ),
          { times: 3 },
        ),
      { concurrency: "unbounded", discard: true },
    ),
  )

const runOrder = (seed: string, shuffle: boolean) => {
  const { process, world } = aWorld({
    seed,
    freedom: { shuffle, yieldEvery: shuffle ? 3 : Infinity },
  })
  const written: Array<string> = []
  writers(process, written)
  world.quiesce()
  return written.join("")
}

describe("idleness", () => {
  it("comes once nothing can run before time moves", () => {
    const { process, world } = aWorld()
    const done: Array<number> = []
    run(
      process,
      Effect.gen(function* () {
        yield* Effect.yieldNow
        done.push(world.now)
        yield* Effect.sleep(1000)
        done.push(world.now)
      }),
    )
    world.quiesce()
    assert.isFalse(world.isBusy)
    assert.deepStrictEqual(done, [start])
    assert.strictEqual(world.nextTimer, start + 1000)
    world.runUntil(start + 5000)
    assert.deepStrictEqual(done, [start, start + 1000])
    assert.strictEqual(world.now, start + 5000)
    assert.isNull(world.nextTimer)
  })

  it("stops at each moment on the way, in order", () => {
    const { process, world } = aWorld()
    const instants: Array<number> = []
    for (const millis of [300, 100, 200, 100]) {
      run(
        process,
        Effect.andThen(
          Effect.sleep(millis),
          Effect.sync(() => instants.push(world.now - start)),
        ),
      )
    }
    world.quiesce()
    assert.isTrue(world.moveOn(start + 1000))
    world.runUntil(start + 1000)
    assert.deepStrictEqual(instants, [100, 100, 200, 300])
  })

  it("is refused to a world that never ends at one moment", () => {
    const { process, world } = aWorld({ maxStepsPerInstant: 1000 })
    run(process, Effect.forever(Effect.yieldNow))
    assert.throws(() => world.quiesce(), "does not come to rest")
  })

  it("does not count an interrupted sleep", () => {
    const { process, world } = aWorld()
    const fiber = run(process, Effect.sleep(1000))
    world.quiesce()
    assert.strictEqual(world.nextTimer, start + 1000)
    run(process, Fiber.interrupt(fiber))
    world.quiesce()
    assert.isNull(world.nextTimer)
  })

  it("continues by itself after promises of the host", async () => {
    const { process } = aWorld({ drivesItself: true })
    const answer = await Effect.runPromiseWith(process.context)(
      Effect.andThen(Effect.yieldNow, Effect.succeed("here")),
    )
    assert.strictEqual(answer, "here")
  })
})

describe("the schedule", () => {
  it("runs tasks in order unless they are drawn", () => {
    assert.strictEqual(runOrder("a", false), "abcdabcdabcdabcd")
    assert.strictEqual(runOrder("b", false), runOrder("a", false))
  })

  it("is the same for the same seed, and differs for another", () => {
    assert.strictEqual(runOrder("a", true), runOrder("a", true))
    const orders = new Set(["a", "b", "c", "d", "e"].map((seed) => runOrder(seed, true)))
    assert.strictEqual(orders.size, 5)
  })
})

describe("a process", () => {
  it("that is killed runs no finalizer and nothing else, also when another process resumes it", () => {
    const { process, world } = aWorld()
    const other = world.process("other")
    const word = Deferred.makeUnsafe<void>()
    const done: Array<string> = []
    const note = (what: string) => Effect.sync(() => void done.push(what))
    run(
      process,
      Effect.ensuring(Effect.andThen(Deferred.await(word), note("after")), note("finalizer")),
    )
    run(process, Effect.andThen(Effect.sleep(10), note("slept")))
    run(other, Effect.andThen(Effect.sleep(20), Deferred.succeed(word, undefined)))
    world.quiesce()
    let deaths = 0
    process.whenDead(() => void deaths++)
    process.kill()
    process.kill()
    world.runUntil(start + 1000)
    assert.deepStrictEqual(done, [])
    assert.strictEqual(deaths, 1)
  })

  it("continues later where it was paused", () => {
    const { process, world } = aWorld()
    const slept: Array<number> = []
    run(
      process,
      Effect.andThen(
        Effect.sleep(10),
        Effect.sync(() => slept.push(world.now - start)),
      ),
    )
    world.quiesce()
    process.pause()
    world.runUntil(start + 500)
    assert.deepStrictEqual(slept, [])
    process.resume()
    world.quiesce()
    assert.deepStrictEqual(slept, [500])
  })

  it("has its own clock", () => {
    const { process, world } = aWorld()
    process.skew = -7000
    const read: Array<number> = []
    run(
      process,
      Effect.map(Clock.currentTimeMillis, (now) => read.push(now)),
    )
    world.quiesce()
    assert.deepStrictEqual(read, [start - 7000])
  })
})
