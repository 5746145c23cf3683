/**
 * Throttled logging for failures that repeat while something is away, such as the database. The
 * first line appears at once, then one per minute with the number of suppressed lines.
 */
import { Cause, Clock, Effect, LogLevel } from "effect"
import { StoreUnavailable } from "../error/Refusal.ts"
import { RealTime } from "../time/Time.ts"

/** Pause between two lines of one wording. */
const quietMillis = 60_000

interface Wording {
  readonly since: () => number
  heldBack: number
}

/** Per service of the process, by its clock; wordings are few and fixed. */
const said = new WeakMap<Clock.Clock, Map<string, Wording>>()

/**
 * Logs a line with the number of suppressed ones before it; or suppresses it and runs `instead`,
 * which may log at debug level.
 */
export const throttled = (
  wording: string,
  say: (heldBack: number) => Effect.Effect<void>,
  instead: Effect.Effect<void> = Effect.void,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const wordings = said.get(clock) ?? new Map<string, Wording>()
    said.set(clock, wordings)
    const before = wordings.get(wording)
    if (before !== undefined && before.since() < quietMillis) {
      before.heldBack++
      return yield* instead
    }
    const { stopwatch } = yield* RealTime
    wordings.set(wording, { since: yield* stopwatch, heldBack: 0 })
    yield* say(before?.heldBack ?? 0)
  })

/** Lines of one wording in a minute. */
const mostLines = 20

interface Budget {
  since: () => number
  lines: number
  heldBack: number
}

const budgets = new WeakMap<Clock.Clock, Map<string, Budget>>()

const isInfoLogged = LogLevel.isEnabled("Info")

/**
 * Logs at `info` what operators look for, such as failed messages: 20 lines of one wording per
 * minute; the next line counts suppressed ones (`held_back`). Without `info` it does nothing.
 * Fields are ids, codes and counts, never a text or a phone.
 */
export const logThrottled = (
  wording: string,
  fields: Readonly<Record<string, string | number | null>>,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!(yield* isInfoLogged)) return
    const clock = yield* Clock.Clock
    const wordings = budgets.get(clock) ?? new Map<string, Budget>()
    budgets.set(clock, wordings)
    let budget = wordings.get(wording)
    const isOver = budget === undefined || budget.since() >= quietMillis
    const heldBack = isOver ? (budget?.heldBack ?? 0) : 0
    if (budget === undefined || isOver) {
      const { stopwatch } = yield* RealTime
      budget = { since: yield* stopwatch, lines: 0, heldBack: 0 }
      wordings.set(wording, budget)
    }
    if (budget.lines >= mostLines) {
      budget.heldBack++
      return
    }
    budget.lines++
    const held = heldBack === 0 ? {} : { held_back: heldBack }
    yield* Effect.annotateLogs(Effect.logInfo(wording), { ...fields, ...held })
  })

/** The text of an error's root cause. */
export const rootOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const reason = "reason" in error && error.reason instanceof Error ? error.reason : error.cause
  if (reason instanceof Error) return rootOf(reason)
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
  const line = `${wording}: ${failure.message}: ${rootOf(failure.cause)}`
  return throttled(
    wording,
    (heldBack) => log(heldBack === 0 ? line : `${line} (${heldBack} such lines were held back)`),
    Effect.logDebug(line),
  )
}
