/**
 * What the end of a connection means: a table from the far side's code to what is done about it. A
 * connection is never opened again in a loop after the far side said that it must not be. Pure.
 */
import type { AfterClose, ClosedReason } from "@messaging-service/core"

export interface Closed {
  readonly code: number
  /** How long the far side asks to stay away; null when it does not say. */
  readonly pauseMillis: number | null
}

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
