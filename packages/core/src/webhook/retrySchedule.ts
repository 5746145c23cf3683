/** When a failed call is tried again, and when a webhook endpoint has failed for too long. */

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/**
 * The delays after each failed attempt to deliver to a webhook endpoint: nine attempts in 23 hours
 * (contract: Deliveries).
 */
export const retryDelaysMillis: ReadonlyArray<number> = [
  5 * second,
  55 * second,
  4 * minute,
  25 * minute,
  90 * minute,
  4 * hour,
  7 * hour,
  10 * hour,
]

/** The delays after each failed callback: four attempts in five minutes (contract: Version 1: callbacks). */
export const callbackDelaysMillis: ReadonlyArray<number> = [10 * second, minute, 4 * minute]

/** The share by which chance may lengthen a delay, so that failures of one moment spread. */
const jitterShare = 0.05

/** An endpoint to which nothing was delivered for this long stops. */
export const silenceMillis = 120 * hour

export interface FailedAttempt {
  /** From 1. */
  readonly attempt: number
  readonly failedAt: number
  /** The wait that the receiver asked for, in milliseconds. */
  readonly retryAfterMillis: number | null
  /** Chance, in [0, 1). */
  readonly chance: number
}

/**
 * When the next attempt is due, by the delays after each failed one; null when all are used up. What
 * the receiver asks for can only lengthen a delay, at most to twice its length.
 */
export const nextAttemptAt = (
  { attempt, failedAt, retryAfterMillis, chance }: FailedAttempt,
  delaysMillis: ReadonlyArray<number>,
): number | null => {
  const delay = delaysMillis[attempt - 1]
  if (delay === undefined) return null
  const usual = Math.round(delay * (1 + jitterShare * chance))
  const asked = Math.min(retryAfterMillis ?? 0, 2 * delay)
  return failedAt + Math.max(usual, asked)
}

/**
 * The wait in milliseconds that a `Retry-After` asks for at `now`: seconds or an HTTP date; null for
 * anything else, and for a date that is past.
 */
export const parseRetryAfter = (value: string | undefined, now: number): number | null => {
  const text = value?.trim() ?? ""
  if (/^\d{1,12}$/.test(text)) return Number(text) * second
  const date = httpDate.test(text) ? Date.parse(text) : Number.NaN
  return date > now ? date - now : null
}

/** The forms of a date with a named zone (RFC 9110); `Date.parse` alone would read far more. */
const httpDate = /^[A-Z][a-z]+, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/
