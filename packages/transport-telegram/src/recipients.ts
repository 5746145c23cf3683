/**
 * Resolves recipients: usernames, ids of people that the account has met, and phones. A phone that
 * Telegram does not find is imported into the account's contacts, as its own apps do.
 */
import type { SendOutcome, Target } from "@messaging-service/core"
import { Long } from "@mtcute/node"
import type { TelegramClient, tl } from "@mtcute/node"
import { getMarkedPeerId, parseMarkedPeerId } from "@mtcute/node/utils.js"
import { Clock, Data, Effect, Result } from "effect"
import { refused } from "./Client.ts"
import type { Requester, CallFailed } from "./Client.ts"
import type { NameOwner, OpenAccount } from "./Account.ts"

export type Resolved =
  | {
      readonly peer: tl.RawInputPeerUser | tl.RawInputPeerChat | tl.RawInputPeerChannel
      /** Negative for a group; below -1,000,000,000,000 for a supergroup. */
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

// Groups: a small group has its id only. A supergroup has an access hash too, which comes with its messages
// and in the list of chats.

const chatsInPage = 100

/** The list of chats is read no further: an account may have thousands. */
const maxPages = 20

type ChatPage = Pick<
  tl.messages.RawGetDialogsRequest,
  "excludePinned" | "offsetDate" | "offsetId" | "offsetPeer"
>

const firstPage: ChatPage = { offsetDate: 0, offsetId: 0, offsetPeer: { _: "inputPeerEmpty" } }

const getPage = (client: TelegramClient, request: Requester, page: ChatPage) =>
  request(async (abortSignal): Promise<{ chats: Array<tl.TypeChat>; next: ChatPage | null }> => {
    const call = { _: "messages.getDialogs", ...page, limit: chatsInPage, hash: Long.ZERO } as const
    const answer = await client.call(call, { abortSignal })
    if (answer._ === "messages.dialogsNotModified") return { chats: [], next: null }
    const { chats, dialogs, messages } = answer
    const last = dialogs.findLast((dialog) => dialog._ === "dialog")
    if (answer._ === "messages.dialogs" || last === undefined) return { chats, next: null }
    const peerId = getMarkedPeerId(last.peer)
    const latest = messages.find(
      (each) =>
        each.id === last.topMessage && each.peerId && getMarkedPeerId(each.peerId) === peerId,
    )
    const offsetPeer = await client.storage.peers.getById(peerId)
    const isOver = offsetPeer === null || latest === undefined || latest._ === "messageEmpty"
    if (isOver) return { chats, next: null }
    const { date: offsetDate, id: offsetId } = latest
    return { chats, next: { excludePinned: true, offsetDate, offsetId, offsetPeer } }
  })

const notFound: Resolved = nowhere("The account has no such group on Telegram.")

const findAmongChats = Effect.fnUntraced(function* findAmongChats(
  client: TelegramClient,
  request: Requester,
  channelId: number,
): Effect.fn.Return<Resolved, CallFailed> {
  let page: ChatPage | null = firstPage
  for (let count = 0; page !== null && count < maxPages; count++) {
    const { chats, next }: Effect.Success<ReturnType<typeof getPage>> = yield* getPage(
      client,
      request,
      page,
    )
    const chat = chats.find((each) => each._ === "channel" && each.id === channelId)
    if (chat?._ === "channel" && chat.accessHash !== undefined) {
      const peer = { _: "inputPeerChannel", channelId, accessHash: chat.accessHash } as const
      return { peer, peerId: getMarkedPeerId(peer) }
    }
    page = next
  }
  return notFound
})

/** By the group's id as the inbox has it. `force` ignores the cache. */
export const resolveGroup = Effect.fnUntraced(function* resolveGroup(
  { client, questions: { request } }: Pick<OpenAccount, "client" | "questions">,
  groupId: string,
  force = false,
): Effect.fn.Return<Resolved, CallFailed> {
  const id = Number(groupId)
  if (!Number.isSafeInteger(id) || id === 0) return notFound
  if (id > 0) return { peer: { _: "inputPeerChat", chatId: id }, peerId: -id }
  const [, channelId] = parseMarkedPeerId(id)
  const known = force ? null : yield* request(async () => client.storage.peers.getById(id))
  return known?._ === "inputPeerChannel"
    ? { peer: known, peerId: id }
    : yield* findAmongChats(client, request, channelId)
})

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
    case "group_id":
      return resolveGroup(account, to.groupId, trust.force)
    case "lid":
    case "group":
      return Effect.succeed({
        outcome: refused("group_not_found", "Telegram accounts send to people and chats only."),
      })
  }
}
