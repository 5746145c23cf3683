/**
 * How far this process's system clock is from the database's. Processes share due times, expiry and
 * quotas, so a wrong clock would send or expire at the wrong time. The watch compares the clocks at
 * start and every minute, and closes the gate while they differ too much.
 */
import { Effect, Layer } from "effect"
import { showClockSkew } from "../monitoring/Metrics.ts"
import { logFailure } from "../monitoring/logThrottled.ts"
import { WorkGate } from "../monitoring/Readiness.ts"
import { RealTime } from "./Time.ts"
import { Store } from "../store/Store.ts"

/** More than this is worth a warning. */
const warnMillis = 2000

/** With more than this the process must not work. */
const stopMillis = 10_000

/** The database's time, and the system's when it was asked for and when it came; epoch milliseconds. */
export interface ClockReading {
  readonly askedAt: number
  readonly databaseAt: number
  readonly answeredAt: number
}

/**
 * Milliseconds that the system clock is ahead of the database's, below zero when it is behind: as much as
 * the round trip cannot explain.
 */
export const clockSkew = ({ answeredAt, askedAt, databaseAt }: ClockReading): number => {
  const earliest = Math.min(askedAt, answeredAt)
  const latest = Math.max(askedAt, answeredAt)
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
  const least = Math.abs(clockSkew(reading))
  const roundTrip = Math.abs(reading.answeredAt - reading.askedAt)
  if (least > stopMillis) return "stop"
  if (before === "stop" && least + roundTrip > stopMillis) return "stop"
  return least > warnMillis ? "warn" : "in_step"
}

/** Real milliseconds between two readings, and while the process must not work. */
const lookMillis = 60_000
const stoppedLookMillis = 5000

/** Real milliseconds that the start waits for the first reading. */
const startMillis = 3000

const apartBy = (skewMillis: number): string => {
  const seconds = (Math.abs(skewMillis) / 1000).toFixed(1)
  return `the system clock is ${seconds} s ${skewMillis < 0 ? "behind" : "ahead of"} the database's; check NTP on both machines`
}

/** Watches the clocks for as long as the layer lives. The first reading is made before the layer is there. */
export const layerClockWatch = Layer.effectDiscard(
  Effect.gen(function* () {
    const gate = yield* WorkGate
    const { databaseTime } = (yield* Store).system
    const { sleep, systemMillis, clockJumped } = yield* RealTime
    let verdict: ClockVerdict = "in_step"

    /** Returns whether there is a clock to compare with. */
    const look = Effect.gen(function* look() {
      const askedAt = yield* systemMillis
      const databaseAt = yield* databaseTime
      if (databaseAt === null) {
        yield* showClockSkew(0)
        return false
      }
      const reading = { askedAt, databaseAt, answeredAt: yield* systemMillis }
      const before = verdict
      verdict = clockVerdict(reading, before)
      const skewMillis = clockSkew(reading)
      yield* showClockSkew(skewMillis / 1000)
      yield* verdict === "stop"
        ? gate.close(
            "clock",
            `${apartBy(skewMillis)}; until then this process claims and accepts nothing`,
          )
        : gate.open("clock")
      if (verdict === "warn" && before !== "warn") yield* Effect.logWarning(apartBy(skewMillis))
      return true
    }).pipe(
      // Until the next reading the last one holds.
      Effect.catchCause((cause) => Effect.as(logFailure("clocks are compared later", cause), true)),
    )

    const pause = Effect.suspend(() =>
      // A clock that was set is read at once.
      Effect.raceFirst(sleep(verdict === "stop" ? stoppedLookMillis : lookMillis), clockJumped),
    )
    const watch = Effect.repeat(Effect.andThen(pause, look), { while: (isThere) => isThere })
    const isThere = yield* Effect.raceFirst(look, Effect.as(sleep(startMillis), true))
    if (isThere) yield* Effect.forkScoped(watch)
  }),
)
