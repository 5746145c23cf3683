/**
 * The fixed windows in which requests are counted: of a version 2 key 60 in a clock minute and
 * 10,000 in a UTC day, of a workspace's version 1 keys together 60 in a clock minute (contract:
 * Rate limits, Version 1: requests).
 */
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { RequestCount } from "../key/ApiKey.ts"

export const requestsPerMinute = 60
export const requestsPerDay = 10_000
/** Version 1 requests of a workspace in a clock minute (contract: Version 1: requests). */
const requestsPerMinuteV1 = 60
/** Requests with a wrong key that one address may make in a clock minute. */
export const wrongKeysPerMinute = 30

/** A clock minute. */
export const minuteMillis = 60_000
/** A UTC day. */
export const dayMillis = 86_400_000

/** `RateLimit-Policy`. */
export const ratePolicy = `${requestsPerMinute};w=60, ${requestsPerDay};w=86400`

export const minuteStart = (now: number): number =>
  now - (((now % minuteMillis) + minuteMillis) % minuteMillis)
export const dayStart = (now: number): number => now - (((now % dayMillis) + dayMillis) % dayMillis)

/** Requests that were counted since the window began; `start` is NaN before the first. */
export interface RequestWindow {
  readonly start: number
  readonly count: number
}

/**
 * The window after one more request of the window that begins at `start`; both last `length`
 * milliseconds. A request that comes late from the window before (side by side with others, or from a
 * server whose clock is behind) counts in the present one, which never begins anew for it: else
 * taking turns would spend a limit many times. Further behind, the clock was set back.
 */
export const countRequest = (
  window: RequestWindow,
  start: number,
  length: number,
): RequestWindow => {
  const ahead = window.start - start
  return ahead >= 0 && ahead <= length
    ? { start: window.start, count: window.count + 1 }
    : { start, count: 1 }
}

/** What the `RateLimit-*` headers show. */
export interface RateState {
  /** 60, or 10,000 once the day's limit refuses. */
  readonly limit: number
  readonly remaining: number
  /** Seconds until the window restarts, rounded up. */
  readonly reset: number
  readonly exceeded: boolean
}

/** The state after a request was counted; `count` includes it. */
export const rateState = (count: RequestCount, now: number): RateState => {
  const dayOver = count.day > requestsPerDay
  const [limit, used, end] = dayOver
    ? [requestsPerDay, count.day, dayStart(now) + dayMillis]
    : [requestsPerMinute, count.minute, minuteStart(now) + minuteMillis]
  return {
    limit,
    remaining: Math.max(0, limit - used),
    reset: Math.ceil((end - now) / 1000),
    exceeded: used > limit,
  }
}

/** The refusal of a request over either limit, if any. */
export const rateRefusal = (state: RateState): Refusal | undefined =>
  state.exceeded
    ? refuse("rate_limited", {
        message: `The key's limit of ${state.limit} requests is used up until the window restarts.`,
        retryAfter: state.reset,
      })
    : undefined

/** The refusal of a version 1 request over its workspace's limit, if any; `count` includes it. */
export const rateRefusalV1 = (count: number, now: number): Refusal | undefined =>
  count > requestsPerMinuteV1
    ? refuse("rate_limited", {
        message: `The workspace's limit of ${requestsPerMinuteV1} requests is used up until the window restarts.`,
        retryAfter: Math.ceil((minuteStart(now) + minuteMillis - now) / 1000),
      })
    : undefined
