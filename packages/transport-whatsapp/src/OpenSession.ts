/** What a number's connection is while it is open, and what is known of it otherwise. */
import type { Phone } from "@messaging-service/core/ports"
import { S_WHATSAPP_NET } from "baileys"
import { Deferred, Effect } from "effect"
import type { Semaphore } from "effect"
import { withoutDevice } from "./addresses.ts"
import type { ClosedReason } from "./closing.ts"
import type { Connection, ConnectionEvent } from "./Connection.ts"
import type { Groups } from "./groups.ts"

/** What is known of a number's connection. */
export interface SessionStatus {
  readonly state: "connected" | "connecting" | "waiting" | "disconnected"
  readonly reason: ClosedReason | null
  /** Since when. */
  readonly since: number
  /** The far side's last word. */
  readonly lastSeenAt: number | null
  readonly reconnects: number
}

/** An open connection, with what sending over it needs. */
export interface OpenSession {
  readonly connection: Connection
  readonly groups: Groups
  /** Addresses of phones that were written to. */
  readonly addresses: Map<Phone, string>
}

/** A number whose connection this process keeps. */
export interface Held {
  status: SessionStatus
  open: OpenSession | null
  /** Done when it is next open, or given up. */
  turn: Deferred.Deferred<OpenSession | ClosedReason>
  /** Whether its status is told: not before the core has taken its link, and not once it leaves. */
  told: boolean
  /** Its device is to be logged out. */
  leaves: boolean
  /** It was seen to be kept away by a pause. */
  isKeptAway: boolean
  /** The core knows that it was given up. */
  isGivenUp: boolean
  /** What its connection goes through, or is about to; undefined before it is first opened. */
  proxyUrl: string | null | undefined
  /** The proxy that this was last compared with, as it is kept. */
  proxy: string | null | undefined
  /** Since when it has not been open; null while it is. */
  lostAt: number | null
  trimmedAt: number
}

export const statusOf = ({ open, status }: Held): SessionStatus =>
  open === null ? status : { ...status, lastSeenAt: open.connection.lastWordAt() }

/** The session is not the number's open one any more. */
export const closeSession = (state: Held, session: OpenSession): void => {
  if (state.open !== session) return
  state.status = { ...state.status, lastSeenAt: session.connection.lastWordAt() }
  state.open = null
  state.turn = Deferred.makeUnsafe()
}

/** Logs the device out at the far side; whether that has answered. */
export const logOutThere = ({ connection }: OpenSession): Effect.Effect<boolean> => {
  const { credentials, socket } = connection
  const device = { jid: credentials.me?.id ?? "", reason: "user_initiated" }
  return Effect.promise(() =>
    socket
      .query({
        tag: "iq",
        attrs: { to: S_WHATSAPP_NET, type: "set", xmlns: "md" },
        content: [{ tag: "remove-companion-device", attrs: device }],
      })
      .then(
        (answer) => answer !== undefined,
        () => false,
      ),
  )
}

/** How long a place stays empty: with eight of them, 40 connections are opened a second at the most. */
const emptyMillis = 200

/**
 * A place among those that are being opened: free soon after it was left, or after the end of the
 * scope. However fast connections open, many numbers do not meet the far side in one second.
 */
export const takePlace = Effect.fnUntraced(function* (starts: Semaphore.Semaphore) {
  let isTaken = false
  const leave = Effect.suspend(() => {
    if (!isTaken) return Effect.void
    isTaken = false
    const free = Effect.andThen(Effect.sleep(emptyMillis), starts.release(1))
    return Effect.asVoid(Effect.forkDetach(free))
  })
  yield* Effect.acquireRelease(
    Effect.map(starts.take(1), () => {
      isTaken = true
    }),
    () => leave,
    { interruptible: true },
  )
  return leave
})

/** What a receipt says of a message; null when it says nothing of its recipient. */
export const tickOf = (
  { by, type }: Extract<ConnectionEvent, { readonly _tag: "Receipt" }>,
  { credentials }: Connection,
): "delivered" | "read" | null => {
  const { id = "", lid = "" } = credentials.me ?? {}
  const own = [id, lid].filter((address) => address !== "").map(withoutDevice)
  // Other devices of the number's own account.
  if (own.includes(withoutDevice(by))) return null
  if (type === null) return "delivered"
  return type === "read" || type === "played" ? "read" : null
}
