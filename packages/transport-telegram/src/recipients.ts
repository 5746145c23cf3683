/**
 * Resolves recipients: usernames, ids of people that the account has met, and phones. A phone that
 * Telegram does not find is imported into the account's contacts, as its own apps do.
 */
import type { SendOutcome, Target } from "@messaging-service/core"
import { Long } from "@mtcute/node"
import type { TelegramClient, tl } from "@mtcute/node"
import { Clock, Data, Effect, Result } from "effect"
import { refused } from "./Client.ts"
import type { Requester, CallFailed } from "./Client.ts"
import type { NameOwner, OpenAccount } from "./Account.ts"

export type Resolved =
  | {
      readonly peer: tl.RawInputPeerUser | tl.RawInputPeerChat
      /** Negative for a group. */
      readonly peerId: number
    }
  | { readonly outcome: SendOutcome }

/** Reading or writing a stored name failed. */
export class NotStored extends Data.TaggedError("NotStored") {}

export type Resolving = Pick<OpenAccount, "client" | "questions" | "usernames">

export interface Trust {
  /** Ignore the cache. */
  readonly force: boolean
  /** Keep the name's owner of the first attempt; see `OutgoingMessage`. */
  readonly mayHaveLeft: boolean
}

const nowhere = (message: string): Resolved => ({
  outcome: refused("recipient_not_found", message),
})

const getPerson = (peer: tl.TypeInputPeer, name: string): Resolved =>
  peer._ === "inputPeerUser"
    ? { peer, peerId: peer.userId }
    : nowhere(`${name} is no person on Telegram.`)

const toUser = (user: tl.TypeUser | undefined, name: string): Resolved =>
  user?._ === "user"
    ? {
        peer: { _: "inputPeerUser", userId: user.id, accessHash: user.accessHash ?? Long.ZERO },
        peerId: user.id,
      }
    : nowhere(`${name} is not on Telegram.`)

const found = ({ peer, users }: tl.contacts.RawResolvedPeer, name: string): Resolved =>
  peer._ === "peerUser"
    ? toUser(
        users.find(({ id }) => id === peer.userId),
        name,
      )
    : nowhere(`${name} is no person on Telegram.`)

const userAt = ({ accessHash, userId }: NameOwner): Resolved => ({
  peer: { _: "inputPeerUser", userId, accessHash: Long.fromString(accessHash) },
  peerId: userId,
})

const ownerAt = ({ accessHash, userId }: tl.RawInputPeerUser, now: number): NameOwner => ({
  userId,
  accessHash: accessHash.toString(),
  at: now,
  seenAt: Date.now(),
})

/** The username has no owner. */
const noOwner: ReadonlySet<string> = new Set(["USERNAME_NOT_OCCUPIED", "USERNAME_INVALID"])

/** The phone has no account. */
const unoccupied: ReadonlySet<string> = new Set(["PHONE_NOT_OCCUPIED", "PHONE_NUMBER_INVALID"])

const byPhone = (
  client: TelegramClient,
  request: Requester,
  phone: string,
  force: boolean,
): Effect.Effect<Resolved, CallFailed> => {
  const digits = phone.replace(/^\+/, "")
  const imported = request((abortSignal) =>
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
      // Telegram did not say whether the phone has an account.
      contact === undefined && retryContacts.length > 0
        ? {
            outcome: refused(
              "send_failed",
              "Telegram takes no more contacts of this account for now.",
              true,
            ),
          }
        : toUser(
            users.find(({ id }) => id === contact?.userId),
            phone,
          ),
    ),
  )
  return request(async (abortSignal) => {
    const known = force ? null : await client.storage.peers.getByPhone(digits)
    if (known !== null) return getPerson(known, phone)
    const call = { _: "contacts.resolvePhone", phone: digits } as const
    return found(await client.call(call, { abortSignal }), phone)
  }).pipe(
    Effect.catchTag("CallFailed", (failed) =>
      unoccupied.has(failed.text) ? imported : Effect.fail(failed),
    ),
  )
}

/** Turns a store call that fails, or outlives the connection, into `NotStored`, for a later try. */
const storedOver =
  ({ request }: Resolving["questions"]) =>
  <A>(work: () => Promise<A>): Effect.Effect<A, NotStored> =>
    Effect.mapError(request(work), () => new NotStored())

/** Asks for the literal name: the library treats some names as its own keywords. */
const byUsername = Effect.fnUntraced(function* byUsername(
  { client, questions, usernames }: Resolving,
  username: string,
  { force, mayHaveLeft }: Trust,
): Effect.fn.Return<Resolved, CallFailed | NotStored> {
  const now = yield* Clock.currentTimeMillis
  const stored = storedOver(questions)
  const known = yield* stored(() => usernames.getOwner(username))
  if (known !== null) {
    const isStored =
      mayHaveLeft || (!force && (yield* stored(() => usernames.isBelieved(username, known, now))))
    if (isStored) return userAt(known)
  }
  const call = { _: "contacts.resolveUsername", username } as const
  const request = yield* Effect.result(
    questions.request((abortSignal) => client.call(call, { abortSignal })),
  )
  // A flood or no answer says nothing about the name.
  if (Result.isFailure(request) && !noOwner.has(request.failure.text)) return yield* request.failure
  const answer = Result.isFailure(request)
    ? nowhere(`Telegram knows no such recipient (${request.failure.text}).`)
    : found(request.success, `@${username}`)
  const owner =
    "peer" in answer && answer.peer._ === "inputPeerUser" ? ownerAt(answer.peer, now) : null
  if (owner !== null || known !== null) yield* stored(() => usernames.keep(username, owner))
  return answer
})

const largestUserId = 2 ** 40 - 1

const byUserId = (client: TelegramClient, request: Requester, userId: number, force: boolean) =>
  userId > largestUserId
    ? Effect.succeed(nowhere(`tg:${userId} is no person on Telegram.`))
    : Effect.map(
        request(() => client.resolvePeer(userId, force)),
        (peer) => getPerson(peer, `tg:${userId}`),
      )

export const resolve = (
  account: Resolving,
  to: Target,
  trust: Trust,
): Effect.Effect<Resolved, CallFailed | NotStored> => {
  const { client, questions } = account
  switch (to.kind) {
    case "phone":
      return byPhone(client, questions.request, to.phone, trust.force)
    case "username":
      return byUsername(account, to.username, trust)
    case "user_id":
      return byUserId(client, questions.request, to.userId, trust.force)
    case "group_id": {
      const chatId = Number(to.groupId)
      return Effect.succeed({ peer: { _: "inputPeerChat", chatId }, peerId: -chatId })
    }
    case "lid":
    case "group":
      return Effect.succeed({
        outcome: refused("group_not_found", "Telegram accounts send to people only."),
      })
  }
}
