/** What a number's connection is while it is open. */
import type { LiveConnection, Phone } from "@messaging-service/core"
import { S_WHATSAPP_NET } from "baileys"
import { Effect } from "effect"
import { withoutDevice } from "./addresses.ts"
import type { Connection, ConnectionEvent } from "./Connection.ts"
import { makeGroups } from "./groups.ts"
import type { Groups } from "./groups.ts"

/** An open connection, with what sending over it needs. */
export interface OpenSession extends LiveConnection {
  readonly connection: Connection
  readonly groups: Groups
  /** Addresses of phones that were written to. */
  readonly addresses: Map<Phone, string>
}

export const sessionOver = (connection: Connection): OpenSession => ({
  connection,
  over: connection.over,
  lastWordAt: connection.lastWordAt,
  groups: makeGroups(connection.socket),
  addresses: new Map(),
})

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
