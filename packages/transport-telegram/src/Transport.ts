/**
 * Sends over a number's session. A repeat has the same random id, so Telegram takes a message once, and
 * refusing a repeat as known proves that it was sent.
 */
import {
  FileUnavailable,
  TelegramTransport,
  outcomeOnceExpired,
  sleepInRealTime,
} from "@messaging-service/core"
import type {
  FileRequest,
  NumberId,
  OutgoingMessage,
  Quote,
  ReadMark,
  ReadMarkOutcome,
  SendOutcome,
  TransportId,
} from "@messaging-service/core"
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { inputPeerToPeer } from "@mtcute/node/utils.js"
import { Clock, Deferred, Effect, Layer, Stream } from "effect"
import { hash } from "node:crypto"
import {
  accepted,
  toClosedReason,
  isSentBefore,
  moved,
  notConnected,
  toOutcome,
  soon,
  unknown,
} from "./Client.ts"
import type { CallFailed } from "./Client.ts"
import { toText, upload } from "./content.ts"
import { fetchFile } from "./files.ts"
import { toMessageId, toRemoteId } from "./incoming.ts"
import { Sessions } from "./Account.ts"
import type { OpenAccount } from "./Account.ts"
import { markOver } from "./readMarks.ts"
import { resolve } from "./recipients.ts"
import type { Resolved } from "./recipients.ts"

/** How long a send waits for a session that is being opened, in real time. */
const openMillis = 15_000

export const toRandomId = (transportId: TransportId): Long => {
  const bytes = hash("sha256", transportId, "buffer")
  return new Long(bytes.readInt32LE(0), bytes.readInt32LE(4))
}

/** Telegram's id of the message that it took; null when its answer has none. */
const messageIdIn = (answer: tl.TypeUpdates): number | null => {
  if (answer._ === "updateShortSentMessage") return answer.id
  if (answer._ !== "updates" && answer._ !== "updatesCombined") return null
  const named = answer.updates.find((update) => update._ === "updateMessageID")
  return named?.id ?? null
}

/** How long finding or storing a message's id may take; without the id no read is reported. */
const findMillis = 5000

/** How many messages of the chat may follow the searched one. */
const maxAnswers = 100

const toHistory = (peer: Peer["peer"]): tl.messages.RawGetHistoryRequest => ({
  _: "messages.getHistory",
  peer,
  offsetId: 0,
  offsetDate: 0,
  addOffset: 0,
  limit: maxAnswers,
  maxId: 0,
  minId: 0,
  hash: Long.ZERO,
})

type Peer = Extract<Resolved, { readonly peer: unknown }>

/** Why the number has no session now. */
type NoAccount = typeof soon | typeof moved | typeof notConnected

/** Runs `use` over the number's session, or says why there is none. */
const overSession = <A>(
  sessions: typeof Sessions.Service,
  numberId: NumberId,
  use: (account: OpenAccount) => Effect.Effect<A>,
): Effect.Effect<A | NoAccount> =>
  Effect.suspend(() => {
    const open = sessions.openNow(numberId)
    return open === null ? overOnceOpen(sessions, numberId, use) : use(open)
  })

const overOnceOpen = <A>(
  sessions: typeof Sessions.Service,
  numberId: NumberId,
  use: (account: OpenAccount) => Effect.Effect<A>,
): Effect.Effect<A | NoAccount> =>
  Effect.raceFirst(sessions.open(numberId), Effect.as(sleepInRealTime(openMillis), soon)).pipe(
    Effect.flatMap((account): Effect.Effect<A | NoAccount> => {
      if (account === null) return Effect.succeed(notConnected)
      // The store did not answer: try again.
      if (account === "connection_lost") {
        return Effect.succeed(sessions.owns(numberId) ? soon : moved)
      }
      if (account === "elsewhere") return Effect.succeed(moved)
      if (typeof account === "string") return Effect.succeed(notConnected)
      return "_tag" in account ? Effect.succeed(account) : use(account)
    }),
  )

const request = Effect.fnUntraced(function* request(
  { client, questions }: OpenAccount,
  { media, text, transportId }: OutgoingMessage,
) {
  const common = { ...toText(text), randomId: toRandomId(transportId) }
  if (media === null) return { _: "messages.sendMessage", noWebpage: true, ...common } as const
  const uploaded = yield* upload(client, questions.request, media)
  return uploaded === "unreadable"
    ? uploaded
    : ({ _: "messages.sendMedia", media: uploaded, ...common } as const)
})

/**
 * Keeps the id of a message. Where people may quote it, the id is stored before the send is over: after a death
 * before that the message is sent again, and the refusal of the repeat leads to the id.
 */
const keepSent = (
  { isConversing, sent, storeNow }: OpenAccount,
  { peerId }: Peer,
  messageId: number,
  transportId: TransportId,
) => {
  const added = sent.add(peerId, messageId, transportId)
  if (!isConversing()) return Effect.void
  return Effect.promise(() => added.then(storeNow)).pipe(
    Effect.timeoutOption(findMillis),
    Effect.asVoid,
  )
}

/**
 * The id of the latest message with that text that is not known already. What the owner wrote meanwhile in
 * another app must not take its place: it would not be stored as an echo.
 */
const findCopy = async (
  { sent }: OpenAccount,
  { peerId }: Peer,
  { media, text, transportId }: OutgoingMessage,
  messages: ReadonlyArray<tl.TypeMessage>,
): Promise<number | null> => {
  const written = toText(text).message.trim()
  for (const each of messages) {
    if (each._ !== "message" || each.out !== true || each.message.trim() !== written) continue
    if (media !== null && each.media === undefined) continue
    const known = await sent.find(peerId, each.id)
    if (known === transportId) return null
    if (known === null) return each.id
  }
  return null
}

/**
 * Finds the id of a message that an earlier attempt sent: its answer was lost, and Telegram does not
 * repeat it.
 */
const findSent = (account: OpenAccount, to: Peer, message: OutgoingMessage) =>
  Effect.gen(function* () {
    const { client, hasRead, questions } = account
    const { peer, peerId } = to
    const { dialogs } = yield* questions.request((abortSignal) =>
      client.call(
        { _: "messages.getPeerDialogs", peers: [{ _: "inputDialogPeer", peer }] },
        { abortSignal },
      ),
    )
    const history = yield* questions.request((abortSignal) =>
      client.call(toHistory(peer), { abortSignal }),
    )
    const messages = "messages" in history ? history.messages : []
    const messageId = yield* Effect.promise(() => findCopy(account, to, message, messages))
    const [dialog] = dialogs
    if (dialog?._ === "dialog") hasRead(peerId, dialog.readOutboxMaxId)
    if (messageId !== null) yield* keepSent(account, to, messageId, message.transportId)
  }).pipe(Effect.timeoutOption(findMillis), Effect.ignore)

/** How far the times of a message may lie apart, in seconds. */
const maxDrift = 120

/**
 * Telegram's id of the quoted message; null when it is not found. Of what this service sent the id is
 * stored only while it is unread; else the chat is read where it must be.
 */
const findQuoted = Effect.fnUntraced(function* findQuoted(
  { client, questions, sent }: OpenAccount,
  { peer, peerId }: Peer,
  { isSent, remoteId, sentAt, text }: Quote,
) {
  if (!isSent) return toMessageId(remoteId)
  const unread = yield* Effect.promise(() =>
    sent.findMessageId(peerId, remoteId as TransportId).catch(() => null),
  )
  if (unread !== null) return unread
  const second = Math.round(sentAt / 1000)
  const around = { ...toHistory(peer), offsetDate: second + maxDrift }
  const history = yield* questions.request((abortSignal) => client.call(around, { abortSignal }))
  const written = toText(text).message
  const candidates = ("messages" in history ? history.messages : []).flatMap((each) =>
    each._ === "message" && each.out === true && each.message === written
      ? [{ id: each.id, drift: Math.abs(each.date - second) }]
      : [],
  )
  const [closest] = candidates.toSorted((a, b) => a.drift - b.drift)
  return closest === undefined || closest.drift > maxDrift ? null : closest.id
})

/** The quoted message is gone. */
const missingQuote: ReadonlySet<string> = new Set([
  "REPLY_MESSAGE_ID_INVALID",
  "MESSAGE_ID_INVALID",
])

const outdatedPeer: ReadonlySet<string> = new Set(["PEER_ID_INVALID", "CHANNEL_INVALID"])

/**
 * Whether the library may count the own message in its box. In a supergroup that was never read the count
 * would begin after all that came before.
 */
const isCounted = ({ client }: OpenAccount, peer: Peer["peer"]) =>
  peer._ === "inputPeerChannel"
    ? Effect.promise(async () =>
        Boolean(await client.storage.updates.getChannelPts(peer.channelId)),
      )
    : Effect.succeed(true)

const deliver = Effect.fnUntraced(function* deliver(
  account: OpenAccount,
  message: OutgoingMessage,
  to: Peer,
  created: Exclude<Effect.Success<ReturnType<typeof request>>, "unreadable">,
  replyToMsgId: number | null,
) {
  const { client, inbox, ownChanges, questions } = account
  const { peer } = to
  const common = {
    peer,
    ...(replyToMsgId !== null && { replyTo: { _: "inputReplyToMessage", replyToMsgId } as const }),
  }
  const answer = yield* questions
    .request((abortSignal) =>
      created._ === "messages.sendMessage"
        ? client.call({ ...created, ...common }, { abortSignal })
        : client.call({ ...created, ...common }, { abortSignal }),
    )
    .pipe(
      Effect.catchTag("CallFailed", (failed) =>
        isSentBefore(failed.text) ? Effect.succeed(null) : Effect.fail(failed),
      ),
    )
  if (answer === null) {
    yield* findSent(account, to, message)
    return accepted
  }
  const messageId = messageIdIn(answer)
  if (messageId !== null) inbox.addOwn(toRemoteId(inputPeerToPeer(peer), messageId))
  if (yield* isCounted(account, peer)) ownChanges.add(answer)
  if (messageId !== null) yield* keepSent(account, to, messageId, message.transportId)
  return accepted
})

/** A failure may also end the connection or the session. */
const afterFailure = (account: OpenAccount, failed: CallFailed, isSend: boolean) => {
  if (failed.code === 0 && Deferred.isDoneUnsafe(account.over)) return isSend ? unknown : soon
  const ending = toClosedReason(failed)
  if (ending === null) return toOutcome(failed, isSend)
  account.ended(ending)
  return notConnected
}

const attempt = (
  sessions: typeof Sessions.Service,
  account: OpenAccount,
  message: OutgoingMessage,
  force: boolean,
): Effect.Effect<SendOutcome> => {
  const { mayHaveLeft = false } = message
  let isHandedOver = false
  return Effect.gen(function* () {
    const resolved = yield* resolve(account, message.to, { force, mayHaveLeft })
    if ("outcome" in resolved) return resolved.outcome
    const { quote = null } = message
    const quoted = quote === null ? null : yield* findQuoted(account, resolved, quote)
    const created = yield* request(account, message)
    // Nothing has left, and the file may be readable later.
    if (created === "unreadable") return soon
    // A frozen process may resume here after another worker took the number over.
    if (!sessions.owns(message.numberId)) return moved
    const late = outcomeOnceExpired(message, yield* Clock.currentTimeMillis)
    if (late !== null) return late
    isHandedOver = true
    return yield* deliver(account, message, resolved, created, quoted)
  }).pipe(
    Effect.catchTag("CallFailed", (failed) => {
      if (message.quote && missingQuote.has(failed.text)) {
        return attempt(sessions, account, { ...message, quote: null }, force)
      }
      // The cached peer is outdated, or was another account's.
      const isInvalid = outdatedPeer.has(failed.text) && isHandedOver
      // A message that may have left keeps the recipient of its first attempt.
      const isStored = mayHaveLeft && message.to.kind === "username"
      const isStale = isInvalid && !force && !isStored
      return isStale
        ? attempt(sessions, account, message, true)
        : Effect.sync(() => afterFailure(account, failed, isHandedOver))
    }),
    Effect.catchTag("NotStored", () => Effect.succeed(soon)),
  )
}

/** The bytes of a file, while the session is open. */
const fileOver = (sessions: typeof Sessions.Service, { numberId, source }: FileRequest) =>
  overSession(sessions, numberId, (account) =>
    Effect.succeed({ bytes: fetchFile(account, source) }),
  ).pipe(
    Effect.map((found) =>
      "bytes" in found ? found.bytes : Stream.fail(new FileUnavailable({ reason: "later" })),
    ),
    Stream.unwrap,
  )

export const layerTransport: Layer.Layer<TelegramTransport, never, Sessions> = Layer.effect(
  TelegramTransport,
  Effect.gen(function* makeTransport() {
    const sessions = yield* Sessions
    return TelegramTransport.of({
      dropsCopies: true,
      send: Effect.fn("TelegramTransport.send")((message: OutgoingMessage) =>
        overSession(sessions, message.numberId, (account) =>
          attempt(sessions, account, message, false),
        ),
      ),
      markRead: Effect.fn("TelegramTransport.markRead")(
        (mark: ReadMark): Effect.Effect<ReadMarkOutcome> =>
          overSession(sessions, mark.numberId, (account) => markOver(account, mark)),
      ),
      fetchFile: (file) => fileOver(sessions, file),
      // Only the worker listens, and sessions stay open while it does.
      listen: sessions.listen,
      connections: sessions.reports,
    })
  }),
)
