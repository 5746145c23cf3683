/**
 * Log lines about what goes wrong again and again while something is away, such as the database: the
 * first is said at once, then one a minute with the number of those that were held back. Every loop,
 * request and number would say the same.
 */
import { Cause, Clock, Effect } from "effect"
import { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { RealTime } from "../time/RealTime.ts"

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
export const rarely = (
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
export const logTrouble = (
  wording: string,
  trouble: unknown,
  log: typeof Effect.logError = Effect.logWarning,
): Effect.Effect<void> => {
  const failure = storeFailureIn(trouble)
  if (failure === null) return log(wording, trouble)
  const line = `${wording}: ${failure.message}: ${rootOf(failure.cause)}`
  return rarely(
    wording,
    (heldBack) => log(heldBack === 0 ? line : `${line} (${heldBack} such lines were held back)`),
    Effect.logDebug(line),
  )
}
