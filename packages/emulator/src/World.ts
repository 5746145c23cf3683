/**
 * A world that does nothing until it is driven: one pool of runnable tasks and one virtual clock for all its
 * logical processes, determined by one seed. Only the world runs tasks, so an empty pool means exactly that
 * nothing happens before time moves. No caller has to poll for it.
 *
 * `openTest` runs a service in such a world with tasks in order; a simulation draws them, and kills, pauses
 * and skews processes.
 */
import { Clock, Context, Duration, Effect, Scheduler } from "effect"

/** Randomness from a seed: sfc32, in 32-bit integer arithmetic, so every engine draws the same numbers. */
export class Chance {
  readonly #seed: string
  #a = 0x9e3779b9
  #b = 0x243f6a88
  #c = 0xb7e15162
  #d = 1

  constructor(seed: string) {
    this.#seed = seed
    for (let i = 0; i < seed.length; i++) {
      this.#c = Math.imul(this.#c ^ seed.charCodeAt(i), 0x01000193)
    }
    for (let i = 0; i < 16; i++) this.word()
  }

  /** A separate stream, which draws from the others do not change. */
  stream(name: string): Chance {
    return new Chance(`${this.#seed}/${name}`)
  }

  /** An unsigned integer of 32 bits. */
  word(): number {
    const word = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (this.#c << 21) | (this.#c >>> 11)
    this.#c = (this.#c + word) | 0
    return word >>> 0
  }

  /** From 0 to below 1. */
  next(): number {
    return this.word() / 4_294_967_296
  }

  /** A whole number from 0 to below `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }
}

/** How much of the schedule is random. */
export interface Freedom {
  /** Draws the next task; else first in, first out. */
  readonly shuffle: boolean
  /** Mean number of operations between two random yields; `Infinity`: only Effect's own. */
  readonly yieldEvery: number
}

export interface WorldOptions {
  readonly seed: string
  /** Epoch milliseconds at which time begins. */
  readonly start: number
  /** Default: tasks in order, no forced yields. */
  readonly freedom?: Freedom
  /**
   * Runs tasks added by promises of the host, in the microtask that follows. Default: tasks run only in
   * `quiesce`, `moveOn` and `runUntil`.
   */
  readonly drivesItself?: boolean
  /**
   * The maximum number of steps at one moment; a world that needs more never becomes idle. Default:
   * 5,000,000.
   */
  readonly maxStepsPerInstant?: number
}

interface Task {
  readonly process: Process
  readonly run: () => void
}

interface Timer {
  readonly at: number
  /** Decides between timers of one moment: drawn, or 0 for their order. */
  readonly rank: number
  readonly seq: number
  readonly process: Process
  readonly fire: () => void
  isCancelled: boolean
}

const isEarlier = (a: Timer, b: Timer): boolean =>
  a.at === b.at ? (a.rank === b.rank ? a.seq < b.seq : a.rank < b.rank) : a.at < b.at

/** Effect's own bound of operations between two yields. */
const operationsPerYield = 2048

const inOrder: Freedom = { shuffle: false, yieldEvery: Infinity }

export class World {
  /** Epoch milliseconds. */
  now: number
  /** Tasks that have run. */
  steps = 0
  readonly freedom: Freedom
  /** Acts on the world from outside: callers, and timers that belong to no process. */
  readonly outside: Process
  /** Called before each step, to decide about faults between any two. */
  beforeStep: (() => void) | null = null
  /** Called with each task before it runs, and its place in the pool. */
  onStep: ((process: Process, index: number) => void) | null = null
  readonly #schedule: Chance
  readonly #drivesItself: boolean
  readonly #maxStepsPerInstant: number
  #tasks: Array<Task> = []
  /** Tasks before this one have run. */
  #first = 0
  readonly #timers: Array<Timer> = []
  #seq = 0
  #processes = 0
  #operationsLeft = Infinity
  #isDriving = false
  #isDriveRequested = false
  #failure: Error | null = null

  constructor({
    drivesItself = false,
    freedom = inOrder,
    maxStepsPerInstant = 5_000_000,
    seed,
    start,
  }: WorldOptions) {
    this.now = start
    this.freedom = freedom
    this.#drivesItself = drivesItself
    this.#maxStepsPerInstant = maxStepsPerInstant
    this.#schedule = new Chance(`${seed}/schedule`)
    this.#drawYield()
    this.outside = this.process("outside")
  }

  /** A logical process of this world. */
  process(name: string): Process {
    return new Process(this, this.#processes++, name)
  }

  #drawYield(): void {
    const { yieldEvery } = this.freedom
    this.#operationsLeft =
      yieldEvery === Infinity ? Infinity : 1 + this.#schedule.below(2 * yieldEvery - 1)
  }

  /** Forces no more yields: for long spans in which only time passes. */
  stopForcingYields(): void {
    this.#operationsLeft = Infinity
  }

  /** Whether to force a yield before the next operation of a fiber. */
  isYieldForced(): boolean {
    if (--this.#operationsLeft > 0) return false
    this.#drawYield()
    return true
  }

  /** Adds a task; those of a dead process are dropped, those of a paused one wait until it resumes. */
  add(process: Process, run: () => void): void {
    if (process.state === "dead") return
    if (process.state === "paused") {
      process.pending.push(run)
      return
    }
    this.#tasks.push({ process, run })
    if (!this.#drivesItself || this.#isDriving || this.#isDriveRequested) return
    this.#isDriveRequested = true
    queueMicrotask(() => {
      this.#isDriveRequested = false
      try {
        this.quiesce()
      } catch (error) {
        this.#failure = error as Error
      }
    })
  }

  /** Removes the tasks of a process from the pool. */
  withdraw(process: Process): ReadonlyArray<() => void> {
    const left = this.#tasks.slice(this.#first)
    this.#tasks = left.filter((task) => task.process !== process)
    this.#first = 0
    return left.filter((task) => task.process === process).map(({ run }) => run)
  }

  #takeTask(): Task | undefined {
    const tasks = this.#tasks
    if (this.freedom.shuffle) {
      const index = tasks.length < 2 ? 0 : this.#schedule.below(tasks.length)
      const task = tasks[index]
      const last = tasks.pop()
      if (task !== undefined && last !== undefined && last !== task) tasks[index] = last
      if (task !== undefined) this.onStep?.(task.process, index)
      return task
    }
    const task = tasks[this.#first++]
    if (this.#first >= tasks.length) {
      this.#tasks = []
      this.#first = 0
    }
    if (task !== undefined) this.onStep?.(task.process, 0)
    return task
  }

  /** Whether something may run before time moves. */
  get isBusy(): boolean {
    return this.#tasks.length > this.#first
  }

  /** Runs one task; false when nothing can happen before time moves. */
  step(): boolean {
    if (!this.isBusy) return false
    this.beforeStep?.()
    if (!this.isBusy) return true
    const task = this.#takeTask()
    this.steps++
    if (task === undefined || task.process.state === "dead") return true
    if (task.process.state === "paused") task.process.pending.push(task.run)
    else task.run()
    return true
  }

  /** Runs until nothing can happen before time moves. Throws when that never comes. */
  quiesce(): void {
    if (this.#failure !== null) throw this.#failure
    if (this.#isDriving) return
    this.#isDriving = true
    try {
      for (let left = this.#maxStepsPerInstant; this.step(); left--) {
        if (left === 0) throw new Error("the service does not come to rest")
      }
    } finally {
      this.#isDriving = false
    }
  }

  /** Calls `fire` as a task of the process at that moment. Returns a function that cancels it. */
  at(process: Process, instant: number, fire: () => void): () => void {
    const rank = this.freedom.shuffle ? this.#schedule.word() : 0
    const timer: Timer = { at: instant, rank, seq: this.#seq++, process, fire, isCancelled: false }
    const heap = this.#timers
    let index = heap.push(timer) - 1
    while (index > 0) {
      const up = (index - 1) >> 1
      const above = heap[up]
      if (above === undefined || !isEarlier(timer, above)) break
      heap[index] = above
      index = up
    }
    heap[index] = timer
    return () => {
      timer.isCancelled = true
    }
  }

  #popTimer(): Timer | undefined {
    const heap = this.#timers
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || first === last) return first
    let index = 0
    for (;;) {
      let down = 2 * index + 1
      const [left, right] = [heap[down], heap[down + 1]]
      if (left === undefined) break
      let child = left
      if (right !== undefined && isEarlier(right, left)) {
        child = right
        down++
      }
      if (!isEarlier(child, last)) break
      heap[index] = child
      index = down
    }
    heap[index] = last
    return first
  }

  /** The moment of the next timer; null without one. */
  get nextTimer(): number | null {
    for (;;) {
      const first = this.#timers[0]
      if (first === undefined) return null
      if (!first.isCancelled && first.process.state !== "dead") return first.at
      this.#popTimer()
    }
  }

  /**
   * Moves time to the next timer, at most to `target`, and runs what that makes runnable. False once the
   * target is reached and no timer is left before it.
   */
  moveOn(target: number): boolean {
    const next = this.nextTimer
    if (next === null || next > target) {
      this.now = Math.max(this.now, target)
      return false
    }
    this.now = Math.max(this.now, next)
    const timer = this.#popTimer()
    if (timer !== undefined) this.add(timer.process, timer.fire)
    this.quiesce()
    return true
  }

  /** Runs everything up to that moment. */
  runUntil(instant: number): void {
    this.quiesce()
    while (this.moveOn(instant)) continue
  }
}

/**
 * A logical process: the scheduler and clock of its effects. It can be killed between any two operations;
 * then none of its finalizers runs.
 */
export class Process {
  state: "alive" | "paused" | "dead" = "alive"
  /** Tasks that wait until it resumes. */
  pending: Array<() => void> = []
  /** Milliseconds that its clock is ahead of the world's. */
  skew = 0
  readonly world: World
  readonly id: number
  readonly name: string
  /** The scheduler and the clock for effects of this process. */
  readonly context: Context.Context<never>
  readonly #deathWatch = new Set<() => void>()

  constructor(world: World, id: number, name: string) {
    this.world = world
    this.id = id
    this.name = name
    this.context = Context.make(Scheduler.Scheduler, this.#makeScheduler()).pipe(
      Context.add(Clock.Clock, this.#makeClock()),
    )
  }

  #makeScheduler(): Scheduler.Scheduler {
    const { world } = this
    const isInOrder = world.freedom.yieldEvery === Infinity
    const dispatcher: Scheduler.SchedulerDispatcher = {
      scheduleTask: (run) => world.add(this, run),
      flush: () => {},
    }
    return {
      executionMode: "async",
      // A fiber of a dead process that something else resumes yields before its first operation, and its
      // task is dropped. Two operations pass between two yields of one fiber, so it makes progress.
      shouldYield: (fiber) =>
        this.state !== "alive" ||
        (isInOrder
          ? fiber.currentOpCount >= operationsPerYield
          : fiber.currentOpCount > 2 && world.isYieldForced()),
      makeDispatcher: () => dispatcher,
    }
  }

  #makeClock(): Clock.Clock {
    const { world } = this
    const now = () => world.now + this.skew
    const nanos = () => BigInt(now()) * 1_000_000n
    const monotonicNanos = () => BigInt(world.now) * 1_000_000n
    return {
      currentTimeMillisUnsafe: now,
      currentTimeMillis: Effect.sync(now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: monotonicNanos,
      monotonicTimeNanos: Effect.sync(monotonicNanos),
      sleep: (duration) => {
        const millis = Math.ceil(Duration.toMillis(duration))
        if (millis <= 0) return Effect.yieldNow
        if (!Number.isFinite(millis)) return Effect.never
        return Effect.callback<void>((resume) => {
          const cancel = world.at(this, world.now + millis, () => resume(Effect.void))
          return Effect.sync(cancel)
        })
      },
    }
  }

  /** Kills it: its tasks and timers are dropped. */
  kill(): void {
    if (this.state === "dead") return
    this.state = "dead"
    this.pending = []
    const watchers = [...this.#deathWatch]
    this.#deathWatch.clear()
    for (const died of watchers) died()
  }

  /** Calls `died` when the process is killed, unless the returned function is called before. */
  whenDead(died: () => void): () => void {
    this.#deathWatch.add(died)
    return () => void this.#deathWatch.delete(died)
  }

  /** Pauses it while its clock continues. */
  pause(): void {
    if (this.state !== "alive") return
    this.state = "paused"
    this.pending.push(...this.world.withdraw(this))
  }

  resume(): void {
    if (this.state !== "paused") return
    this.state = "alive"
    const { pending } = this
    this.pending = []
    for (const run of pending) this.world.add(this, run)
  }
}
