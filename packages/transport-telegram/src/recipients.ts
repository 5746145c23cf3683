/**
 * Whom a message goes to: usernames, ids of people the account has met, and phones, which are looked up
 * and, where that finds none, imported into the account's contacts as its own apps do.
 */
import type { SendOutcome, Target } from "@messaging-service/core/ports"
import { Long } from "@mtcute/node"
import type { TelegramClient, tl } from "@mtcute/node"
import { Effect } from "effect"
import { asked } from "./Client.ts"
import type { CallFailed } from "./Client.ts"
import { refused } from "./outcomes.ts"

/** Whom a message goes to, or why it goes nowhere. */
export type Resolved =
  | { readonly peer: tl.RawInputPeerUser; readonly peerId: number }
  | { readonly outcome: SendOutcome }

const nowhere = (message: string): Resolved => ({
  outcome: refused("recipient_not_found", message),
})

const personOf = (peer: tl.TypeInputPeer, name: string): Resolved =>
  peer._ === "inputPeerUser"
    ? { peer, peerId: peer.userId }
    : nowhere(`${name} is no person on Telegram.`)

const userOf = (user: tl.TypeUser | undefined, name: string): Resolved =>
  user?._ === "user"
    ? {
        peer: { _: "inputPeerUser", userId: user.id, accessHash: user.accessHash ?? Long.ZERO },
        peerId: user.id,
      }
    : nowhere(`${name} is not on Telegram.`)

/** Names that say that there is none of them. */
const unoccupied: ReadonlySet<string> = new Set(["PHONE_NOT_OCCUPIED", "PHONE_NUMBER_INVALID"])

const byPhone = (
  client: TelegramClient,
  phone: string,
  force: boolean,
): Effect.Effect<Resolved, CallFailed> => {
  const digits = phone.replace(/^\+/, "")
  const imported = asked((abortSignal) =>
    client.call(
      {
        _: "contacts.importContacts",
        contacts: [
          {
            _: "inputPhoneContact",
            clientId: Long.ONE,
            phone: `+${digits}`,
            firstName: `+${digits}`,
            lastName: "",
          },
        ],
      },
      { abortSignal },
    ),
  ).pipe(
    Effect.map(({ imported: [found], users }) =>
      userOf(
        users.find(({ id }) => id === found?.userId),
        phone,
      ),
    ),
  )
  return asked(async (abortSignal) => {
    const known = force ? null : await client.storage.peers.getByPhone(digits)
    if (known !== null) return personOf(known, phone)
    const { peer, users } = await client.call(
      { _: "contacts.resolvePhone", phone: digits },
      { abortSignal },
    )
    const userId = peer._ === "peerUser" ? peer.userId : null
    return userOf(
      users.find(({ id }) => id === userId),
      phone,
    )
  }).pipe(
    Effect.catchTag("CallFailed", (failed) =>
      unoccupied.has(failed.text) ? imported : Effect.fail(failed),
    ),
  )
}

/** `force`: what is remembered of the person is not believed. */
export const resolve = (
  client: TelegramClient,
  to: Target,
  force: boolean,
): Effect.Effect<Resolved, CallFailed> => {
  switch (to.kind) {
    case "phone":
      return byPhone(client, to.phone, force)
    case "username":
      return Effect.map(
        asked(() => client.resolvePeer(to.username, force)),
        (peer) => personOf(peer, `@${to.username}`),
      )
    case "user_id":
      return Effect.map(
        asked(() => client.resolvePeer(to.userId, force)),
        (peer) => personOf(peer, `tg:${to.userId}`),
      )
    case "group":
      return Effect.succeed({
        outcome: refused("group_not_found", "Telegram accounts send to people only."),
      })
  }
}
