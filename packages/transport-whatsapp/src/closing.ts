/**
 * What the end of a connection means: a table from the far side's code to what is done about it. A
 * connection is never opened again in a loop after the far side said that it must not be. Pure.
 */

/** Why a number is not connected. */
export type ClosedReason =
  | "logged_out"
  | "replaced"
  | "banned"
  | "restricted"
  | "client_outdated"
  | "connection_lost"

export interface Closed {
  readonly code: number
  /** How long the far side asks to stay away; null when it does not say. */
  readonly pauseMillis: number | null
}

export type AfterClose =
  /** A new connection at once: the far side asked for it. */
  | { readonly _tag: "Restart" }
  /** A new connection after a pause, which grows with each failure. */
  | { readonly _tag: "Again" }
  /** A new connection once the far side's own time is over. */
  | { readonly _tag: "Pause"; readonly reason: ClosedReason; readonly millis: number }
  /** No new connection by itself. With `wipe` the credentials are worth nothing any more. */
  | { readonly _tag: "Stop"; readonly reason: ClosedReason; readonly wipe: boolean }

/** 500 tells of a session that the far side does not like: so many in a row end it. */
export const mostBadSessions = 5

const again: AfterClose = { _tag: "Again" }
const stop = (reason: ClosedReason, wipe = false): AfterClose => ({ _tag: "Stop", reason, wipe })

const byCode: Readonly<Record<number, AfterClose>> = {
  401: stop("logged_out", true),
  // The phone's account is locked.
  403: stop("restricted"),
  405: stop("client_outdated"),
  406: stop("banned"),
  // The user agent is refused.
  409: stop("client_outdated"),
  // The account's phone does not speak to linked devices.
  411: stop("logged_out", true),
  440: stop("replaced"),
  515: { _tag: "Restart" },
}

/** `badSessions`: how many connections in a row ended with 500 before it was open, this one included. */
export const afterClose = ({ code, pauseMillis }: Closed, badSessions: number): AfterClose => {
  if (code === 402) {
    return pauseMillis === null
      ? stop("banned")
      : { _tag: "Pause", reason: "banned", millis: pauseMillis }
  }
  if (code === 500) return badSessions >= mostBadSessions ? stop("logged_out", true) : again
  // 408, 428 and 503 among them, and whatever is not known: the network's doings.
  return byCode[code] ?? again
}

/**
 * The pause before the next connection: doubling with each failure in a row, of which the upper half is
 * drawn, so that numbers that were lost together do not come back together. `drawn`: from 0 up to 1.
 */
export const pauseMillis = (
  failures: number,
  drawn: number,
  { first, longest }: { readonly first: number; readonly longest: number },
): number => {
  const whole = Math.min(longest, first * 2 ** Math.min(failures, 30))
  return Math.round(whole / 2 + (drawn * whole) / 2)
}
