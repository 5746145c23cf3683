/** A number whose connection this process keeps: how it stands, and what is known of it besides. */
import { Clock, Deferred, Effect } from "effect"
import type { NumberId } from "../Ids.ts"
import type { ConnectionReport } from "../number/Connection.ts"
import type { ConnectionReason } from "../number/SendingNumber.ts"

/** Why a number is not connected, as its far side or the network has it. */
export type ClosedReason = Extract<
  ConnectionReason,
  "logged_out" | "replaced" | "banned" | "restricted" | "client_outdated" | "connection_lost"
>

/** What is known of a number's connection. */
export interface LiveStatus extends Omit<ConnectionReport, "numberId"> {
  readonly reason: ClosedReason | null
}

/** What an open connection is at least; a transport adds what sending over it needs. */
export interface LiveConnection {
  /** Done once it is over; a new connection is another value. */
  readonly over: Deferred.Deferred<void>
  /** When the far side last said anything, in service time; null before it did. */
  readonly lastWordAt: () => number | null
}

export interface LiveNumber<Open extends LiveConnection> {
  readonly numberId: NumberId
  status: LiveStatus
  open: Open | null
  /** Done when it is next open, or given up. */
  turn: Deferred.Deferred<Open | ClosedReason>
  /** Whether the core is told of its status: not before it has taken the link, nor once the number leaves. */
  told: boolean
  /** Its session is to be logged out. */
  leaves: boolean
  /** It was seen to be kept away by a pause. */
  isKeptAway: boolean
  /** The core knows that it was given up. */
  isGivenUp: boolean
  /** What its connection goes through, or is about to; undefined before it is first opened. */
  proxyUrl: string | null | undefined
  /** The kept proxy, which is sealed, that `proxyUrl` was last compared with; undefined before that. */
  proxy: string | null | undefined
  /** Since when it has not been open, in service time; null while it is. */
  lostAt: number | null
  /** When its keys were last trimmed, in service time; null before that. */
  trimmedAt: number | null
  /** How many keys were written since. */
  wroteSince: number
}

/** A number whose connection is about to be opened. */
export const newLiveNumber = <Open extends LiveConnection>(
  numberId: NumberId,
  told: boolean,
): Effect.Effect<LiveNumber<Open>> =>
  Effect.map(Clock.currentTimeMillis, (since) => ({
    numberId,
    status: { state: "connecting", reason: null, since, lastSeenAt: null, reconnects: 0 },
    open: null,
    turn: Deferred.makeUnsafe(),
    told,
    leaves: false,
    isKeptAway: false,
    isGivenUp: false,
    proxyUrl: undefined,
    proxy: undefined,
    lostAt: null,
    trimmedAt: null,
    wroteSince: 0,
  }))

/** How its connection stands, up to the far side's last word. */
export const statusOf = <Open extends LiveConnection>({
  open,
  status,
}: LiveNumber<Open>): LiveStatus =>
  open === null ? status : { ...status, lastSeenAt: open.lastWordAt() }

/** Changes its status; a state that is new begins now. */
export const changeStatus = <Open extends LiveConnection>(
  live: LiveNumber<Open>,
  to: Partial<LiveStatus>,
): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const isNew = to.state !== undefined && to.state !== live.status.state
    live.status = { ...live.status, ...(isNew ? { since: now } : {}), ...to }
  })

/** Notes that the number's open connection is over, and wakes all that wait for its end. */
export const closeConnection = <Open extends LiveConnection>(live: LiveNumber<Open>): void => {
  const { open } = live
  if (open === null) return
  live.status = statusOf(live)
  live.open = null
  live.turn = Deferred.makeUnsafe()
  // What waits for this goes on at once, and must not find the closed connection: so it comes last.
  Deferred.doneUnsafe(open.over, Effect.void)
}

/** Its open connection, waited for while it is being opened; or why there is none. */
export const settled = <Open extends LiveConnection>(
  live: LiveNumber<Open>,
): Effect.Effect<Open | ClosedReason> =>
  Effect.suspend((): Effect.Effect<Open | ClosedReason> => {
    // A connection may be over before its end was noted.
    if (live.open !== null && Deferred.isDoneUnsafe(live.open.over)) closeConnection(live)
    return live.open === null ? Deferred.await(live.turn) : Effect.succeed(live.open)
  })

/**
 * The pause before the next connection: doubling with each failure in a row, of which the upper half is
 * drawn, so that numbers that were lost together do not come back together. `drawn`: from 0 up to 1.
 */
export const reconnectPauseMillis = (
  failures: number,
  drawn: number,
  { first, longest }: { readonly first: number; readonly longest: number },
): number => {
  const whole = Math.min(longest, first * 2 ** Math.min(failures, 30))
  return Math.round(whole / 2 + (drawn * whole) / 2)
}
