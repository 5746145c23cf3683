/**
 * Throttled logging for failures that repeat while something is away, such as the database. The
 * first line appears at once, then one per minute with the number of suppressed lines.
 */
import { Cause, Clock, Effect, LogLevel } from "effect"
import { StoreUnavailable } from "../model/Refusal.ts"
import { RealTime } from "../model/Time.ts"

/** Pause between two lines of one wording. */
const quietMillis = 60_000

/** The lines of one wording in the current period. */
interface Period {
  readonly since: () => number
  lines: number
  suppressedLines: number
}

/** Per service of the process, by its clock; wordings are few and fixed. */
const periods = new WeakMap<Clock.Clock, Map<string, Period>>()

/**
 * Takes one of the `max` lines that a wording has per period. Returns how many lines the period
 * before suppressed (0 after the first line), or null when this one is to be suppressed.
 */
const takeLine = (
  wording: string,
  max: number,
  quiet = quietMillis,
): Effect.Effect<number | null> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const wordings = periods.get(clock) ?? new Map<string, Period>()
    periods.set(clock, wordings)
    const period = wordings.get(wording)
    if (period === undefined || period.since() >= quiet) {
      const { stopwatch } = yield* RealTime
      wordings.set(wording, { since: yield* stopwatch, lines: 1, suppressedLines: 0 })
      return period?.suppressedLines ?? 0
    }
    if (period.lines < max) {
      period.lines++
      return 0
    }
    period.suppressedLines++
    return null
  })

/**
 * Logs a line with the number of suppressed ones before it; or suppresses it and runs `instead`,
 * which may log at debug level. `quiet` is the pause between two lines, in milliseconds.
 */
export const throttled = (
  wording: string,
  log: (suppressedLines: number) => Effect.Effect<void>,
  instead: Effect.Effect<void> = Effect.void,
  quiet = quietMillis,
): Effect.Effect<void> =>
  Effect.flatMap(takeLine(wording, 1, quiet), (suppressedLines) =>
    suppressedLines === null ? instead : log(suppressedLines),
  )

/** Lines of one wording in a minute. */
const maxLines = 20

/** `Warn`: the operator may have to act. */
type OperatorLevel = "Info" | "Warn"

/**
 * Logs what operators look for, such as failed messages: 20 lines of one wording per minute; the
 * next line counts suppressed ones (`held_back`). Where `level` is not logged it does nothing.
 * Fields are ids, codes, counts and clients' addresses, never a text or a phone.
 */
export const logThrottled = (
  wording: string,
  fields: Readonly<Record<string, string | number | null>>,
  level: OperatorLevel = "Info",
): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!(yield* LogLevel.isEnabled(level))) return
    const suppressedLines = yield* takeLine(wording, maxLines)
    if (suppressedLines === null) return
    const suppressed = suppressedLines === 0 ? {} : { held_back: suppressedLines }
    yield* Effect.annotateLogs(Effect.logWithLevel(level)(wording), { ...fields, ...suppressed })
  })

/** The text of an error's root cause. */
export const rootMessage = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const reason = "reason" in error && error.reason instanceof Error ? error.reason : error.cause
  if (reason instanceof Error) return rootMessage(reason)
  return typeof reason === "string" && reason !== ""
    ? reason
    : error.message.split("\n", 1)[0] || error.name
}

const storeFailureIn = (trouble: unknown): StoreUnavailable | null => {
  const error = Cause.isCause(trouble) ? Cause.squash(trouble) : trouble
  return error instanceof StoreUnavailable ? error : null
}

/** Logs a failure. An unavailable store takes one line, throttled; debug level logs each. */
export const logFailure = (
  wording: string,
  trouble: unknown,
  log: typeof Effect.logError = Effect.logWarning,
): Effect.Effect<void> => {
  const failure = storeFailureIn(trouble)
  if (failure === null) return log(wording, trouble)
  const line = `${wording}: ${failure.message}: ${rootMessage(failure.cause)}`
  return throttled(
    wording,
    (suppressedLines) =>
      log(suppressedLines === 0 ? line : `${line} (${suppressedLines} such lines were held back)`),
    Effect.logDebug(line),
  )
}
