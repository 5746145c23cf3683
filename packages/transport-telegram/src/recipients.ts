/**
 * Whom a message goes to: usernames, ids of people the account has met, and phones, which are looked up
 * and, where that finds none, imported into the account's contacts as its own apps do.
 */
import type { SendOutcome, Target } from "@messaging-service/core/ports"
import { Long } from "@mtcute/node"
import type { TelegramClient, tl } from "@mtcute/node"
import { Effect } from "effect"
import type { Ask, CallFailed } from "./Client.ts"
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

const found = ({ peer, users }: tl.contacts.RawResolvedPeer, name: string): Resolved =>
  peer._ === "peerUser"
    ? userOf(
        users.find(({ id }) => id === peer.userId),
        name,
      )
    : nowhere(`${name} is no person on Telegram.`)

/** Names that say that there is none of them. */
const unoccupied: ReadonlySet<string> = new Set(["PHONE_NOT_OCCUPIED", "PHONE_NUMBER_INVALID"])

const byPhone = (
  client: TelegramClient,
  ask: Ask,
  phone: string,
  force: boolean,
): Effect.Effect<Resolved, CallFailed> => {
  const digits = phone.replace(/^\+/, "")
  const imported = ask((abortSignal) =>
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
    Effect.map(({ imported: [contact], retryContacts, users }): Resolved =>
      // Whether the phone is on Telegram was not told.
      contact === undefined && retryContacts.length > 0
        ? {
            outcome: refused(
              "send_failed",
              "Telegram takes no more contacts of this account for now.",
              true,
            ),
          }
        : userOf(
            users.find(({ id }) => id === contact?.userId),
            phone,
          ),
    ),
  )
  return ask(async (abortSignal) => {
    const known = force ? null : await client.storage.peers.getByPhone(digits)
    if (known !== null) return personOf(known, phone)
    const call = { _: "contacts.resolvePhone", phone: digits } as const
    return found(await client.call(call, { abortSignal }), phone)
  }).pipe(
    Effect.catchTag("CallFailed", (failed) =>
      unoccupied.has(failed.text) ? imported : Effect.fail(failed),
    ),
  )
}

/** Each name is asked for as it is: the library takes some of them for words of its own. */
const byUsername = (client: TelegramClient, ask: Ask, username: string, force: boolean) =>
  ask(async (abortSignal) => {
    const known = force ? null : await client.storage.peers.getByUsername(username)
    if (known !== null) return personOf(known, `@${username}`)
    const call = { _: "contacts.resolveUsername", username } as const
    return found(await client.call(call, { abortSignal }), `@${username}`)
  })

/** No person's id is larger. */
const largestUserId = 2 ** 40 - 1

const byUserId = (client: TelegramClient, ask: Ask, userId: number, force: boolean) =>
  userId > largestUserId
    ? Effect.succeed(nowhere(`tg:${userId} is no person on Telegram.`))
    : Effect.map(
        ask(() => client.resolvePeer(userId, force)),
        (peer) => personOf(peer, `tg:${userId}`),
      )

/** `force`: what is remembered of the person is not believed. `ask` puts questions to the far side. */
export const resolve = (
  client: TelegramClient,
  ask: Ask,
  to: Target,
  force: boolean,
): Effect.Effect<Resolved, CallFailed> => {
  switch (to.kind) {
    case "phone":
      return byPhone(client, ask, to.phone, force)
    case "username":
      return byUsername(client, ask, to.username, force)
    case "user_id":
      return byUserId(client, ask, to.userId, force)
    case "group":
      return Effect.succeed({
        outcome: refused("group_not_found", "Telegram accounts send to people only."),
      })
  }
}
