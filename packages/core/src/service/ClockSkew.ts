/**
 * How far this process's system clock is from the database's. Processes share due times, expiry and
 * quotas, so a wrong clock would send or expire at the wrong time. The watch compares the clocks at
 * start, every minute and once the system clock has leapt, and closes the gate while they differ too much.
 */
import { Clock, Context, Effect, Latch, Layer } from "effect"
import { showClockSkew } from "../store/Metrics.ts"
import { logFailure } from "./logThrottled.ts"
import { WorkGate } from "./Readiness.ts"
import { RealTime } from "../model/Time.ts"
import { Store } from "../store/Store.ts"

/** More than this is worth a warning. */
const warnMillis = 2000

/** With more than this the process must not work. */
const stopMillis = 10_000

/** The database's time, and the system's when it was asked for and when it came; epoch milliseconds. */
export interface ClockReading {
  readonly requestedAt: number
  readonly databaseAt: number
  readonly answeredAt: number
}

/**
 * Milliseconds that the system clock is ahead of the database's, below zero when it is behind: as much as
 * the round trip cannot explain.
 */
export const clockSkew = ({ answeredAt, requestedAt, databaseAt }: ClockReading): number => {
  const earliest = Math.min(requestedAt, answeredAt)
  const latest = Math.max(requestedAt, answeredAt)
  if (databaseAt < earliest) return earliest - databaseAt
  return databaseAt > latest ? latest - databaseAt : 0
}

/** `stop`: the process must not work. */
export type ClockVerdict = "in_step" | "warn" | "stop"

/**
 * What follows from a reading. A stop ends only by an answer that came fast enough to prove that the clocks
 * agree: the round trip of a slow one could hide the skew.
 */
export const clockVerdict = (reading: ClockReading, before: ClockVerdict): ClockVerdict => {
  const min = Math.abs(clockSkew(reading))
  const roundTrip = Math.abs(reading.answeredAt - reading.requestedAt)
  if (min > stopMillis) return "stop"
  if (before === "stop" && min + roundTrip > stopMillis) return "stop"
  return min > warnMillis ? "warn" : "in_step"
}

/** A leap that the database's clock shares counts once it has lasted so many milliseconds: it may end again. */
const sharedLeapMillis = 10_000

/** More than this between two reads means that the wall clock leapt between them. */
const readMillis = 1000

/** The wall clock of this process against its monotonic one, which never leaps. */
interface LeapWatch {
  /** What `read` gives of the wall clock, without the leap. */
  withoutLeap(read: () => number): number
  /** By how many milliseconds the wall clock has leapt; 0 for at most what is worth a warning. */
  leap(): number
  /** Milliseconds of the monotonic clock. */
  steady(): number
  /** How far the wall clock is ahead of the monotonic one. */
  lead(): number
  /** The database agrees with the wall clock at that lead; null: there is none that could. */
  trust(lead: number | null): void
}

/** `leapt` learns of a leap whenever the time is read. */
const makeLeapWatch = (clock: Clock.Clock, leapt: (millis: number) => void): LeapWatch => {
  const steady = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const lead = () => clock.currentTimeMillisUnsafe() - steady()
  let trusted: number | null = lead()
  const leapAt = (found: number): number => {
    if (trusted === null) return 0
    const leap = Math.round(found - trusted)
    if (Math.abs(leap) <= warnMillis) return 0
    leapt(leap)
    return leap
  }
  const withoutLeap = (read: () => number): number => {
    const before = lead()
    const at = read()
    return Math.abs(lead() - before) > readMillis ? withoutLeap(read) : at - leapAt(before)
  }
  return {
    withoutLeap,
    leap: () => leapAt(lead()),
    steady,
    lead,
    trust: (found) => {
      trusted = found
    },
  }
}

/** The same clock with another time. */
const withTime = (clock: Clock.Clock, millis: () => number): Clock.Clock => {
  const nanos = () => BigInt(millis()) * 1_000_000n
  return Object.assign(Object.create(clock) as Clock.Clock, {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
  })
}

/**
 * The clock of work that began before the gate closed: no leap shows in it. Null: the time cannot leap.
 */
const WorkClock = /*#__PURE__*/ Context.Reference<Clock.Clock | null>("core/WorkClock", {
  defaultValue: () => null,
})

/** Runs the work on that clock. */
export const onWorkClock = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(WorkClock, (clock) =>
    clock === null ? work : Effect.provideService(work, Clock.Clock, clock),
  )

/** Real milliseconds between two readings, and while the process must not work. */
const lookMillis = 60_000
const stoppedLookMillis = 5000

/** Real milliseconds that the start waits for the first reading. */
const startMillis = 3000

const apartBy = (skewMillis: number): string => {
  const seconds = (Math.abs(skewMillis) / 1000).toFixed(1)
  return `the system clock is ${seconds} s ${skewMillis < 0 ? "behind" : "ahead of"} the database's; check NTP on both machines`
}

const untilCompared = (leapMillis: number): string =>
  `the system clock leapt by ${(leapMillis / 1000).toFixed(1)} s; until it agrees with the database's this process claims and accepts nothing`

/** What the watch knows. */
const makeClockWatch = Effect.gen(function* makeClockWatch() {
  const gate = yield* WorkGate
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  let verdict: ClockVerdict = "in_step"
  /** When a leap was seen that no reading has explained yet, by the monotonic clock. */
  let leaptAt: number | null = null
  const hasLeapt = Latch.makeUnsafe(false)
  const wall = makeLeapWatch(clock, (leap) => {
    if (leaptAt !== null) return
    leaptAt = wall.steady()
    // The gate is closed before this look at the time returns, and before the clocks are compared.
    run(gate.close("clock", untilCompared(leap)))
    hasLeapt.openUnsafe()
  })

  /** Whether the database's clock leapt too, and both may still come back. */
  const mayLeapBack = (): boolean =>
    Math.abs(wall.leap()) > stopMillis &&
    leaptAt !== null &&
    wall.steady() - leaptAt < sharedLeapMillis

  const trust = (lead: number | null) => {
    wall.trust(lead)
    leaptAt = null
    return gate.open("clock")
  }

  /** A reading, and the lead of the wall clock then. */
  const judge = Effect.fnUntraced(function* judge(reading: ClockReading, lead: number) {
    // A leap that no look at the time has met yet.
    wall.leap()
    const before = verdict
    verdict = clockVerdict(reading, before)
    const skewMillis = clockSkew(reading)
    yield* showClockSkew(skewMillis / 1000)
    if (verdict === "stop") {
      return yield* gate.close(
        "clock",
        `${apartBy(skewMillis)}; until then this process claims and accepts nothing`,
      )
    }
    if (before !== "stop" && mayLeapBack()) return
    yield* trust(lead)
    if (verdict === "warn" && before !== "warn") yield* Effect.logWarning(apartBy(skewMillis))
  })

  const system = () => clock.currentTimeMillisUnsafe()
  return {
    wall,
    trust,
    judge,
    hasLeapt,
    isClosed: () => verdict === "stop" || leaptAt !== null,
    workClock: withTime(clock, () => wall.withoutLeap(system)),
    /** What callers read: once a leap is known the gate is closed, and they read the system's time. */
    shown: (read: () => number = system): number => {
      const isKnown = verdict === "stop"
      const steadied = wall.withoutLeap(read)
      return isKnown ? read() : steadied
    },
  }
})

/**
 * Watches the clocks for as long as the layer lives. The first reading is made before the layer is there.
 * For what is above, the first look at the time after a leap closes the gate and shows the time without it.
 */
export const layerClockWatch = Layer.effectContext(
  Effect.gen(function* () {
    const { databaseTime } = (yield* Store).system
    const realTime = yield* RealTime
    const { sleep, systemMillis, clockJumped } = realTime
    const { hasLeapt, isClosed, judge, shown, trust, wall, workClock } = yield* makeClockWatch

    /** Returns whether there is a clock to compare with. */
    const check = Effect.gen(function* inspect() {
      hasLeapt.closeUnsafe()
      const lead = wall.lead()
      const requestedAt = yield* systemMillis
      const steadyBefore = wall.steady()
      const databaseAt = yield* databaseTime
      if (databaseAt === null) {
        yield* showClockSkew(0)
        yield* trust(null)
        return false
      }
      // By the monotonic clock: a leap meanwhile is not part of the round trip.
      const answeredAt = requestedAt + Math.round(wall.steady() - steadyBefore)
      yield* judge({ requestedAt, databaseAt, answeredAt }, lead)
      return true
    }).pipe(
      // Until the next reading the last one holds.
      Effect.catchCause((cause) => Effect.as(logFailure("clocks are compared later", cause), true)),
    )

    const pause = Effect.suspend(() =>
      // A clock that was set is read at once.
      Effect.raceAllFirst([
        sleep(isClosed() ? stoppedLookMillis : lookMillis),
        clockJumped,
        hasLeapt.await,
      ]),
    )
    const watch = Effect.repeat(Effect.andThen(pause, check), { while: (isThere) => isThere })
    const isThere = yield* Effect.raceFirst(check, Effect.as(sleep(startMillis), true))
    if (!isThere) return Context.empty()
    yield* Effect.forkScoped(watch)
    return Context.make(Clock.Clock, withTime(yield* Clock.Clock, shown)).pipe(
      Context.add(WorkClock, workClock),
      Context.add(RealTime, {
        ...realTime,
        systemMillis: Effect.map(systemMillis, (at) => shown(() => at)),
      }),
    )
  }),
)
