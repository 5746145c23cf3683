/**
 * Log lines about what goes wrong again and again while something is away, such as the database: the
 * first is said at once, then one a minute with the number of those that were held back. Every loop,
 * request and number would say the same.
 */
import { Cause, Clock, Effect, LogLevel } from "effect"
import { StoreUnavailable } from "../error/Refusal.ts"
import { RealTime } from "../time/Time.ts"

/** Between two lines of one wording. */
const quietMillis = 60_000

interface Wording {
  readonly since: () => number
  heldBack: number
}

/** Of each service of the process, by its clock; wordings are few and fixed. */
const said = new WeakMap<Clock.Clock, Map<string, Wording>>()

/**
 * Says a line of that wording, told how many were held back before it; or holds it back, and does
 * `instead`, which may say it to those who debug.
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
 * Says at `info` what an operator looks for, such as a message that failed: 20 lines of one wording in a
 * minute, then none, and the next one counts those that were held back (`held_back`). Where `info` is off
 * it does nothing. Fields are ids, codes and counts, never a text or a phone.
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

/** The words of what stands at the bottom of an error. */
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

/**
 * Logs what failed. A store that does not answer takes one line, and is said rarely; to those who debug
 * each time.
 */
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
