/**
 * Sending over a number's session. Each message has an id of ours that is the same on every repeat: the
 * far side takes it once, so that a repeat which it refuses as known is the proof that it was sent.
 */
import { TelegramTransport, outcomeOnceExpired, sleepInRealTime } from "@messaging-service/core"
import type { NumberId, OutgoingMessage, SendOutcome, TransportId } from "@messaging-service/core"
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { Clock, Deferred, Effect, Layer } from "effect"
import { hash } from "node:crypto"
import {
  accepted,
  endingOf,
  isSentBefore,
  moved,
  notConnected,
  outcomeOf,
  soon,
  unknown,
} from "./Client.ts"
import type { CallFailed } from "./Client.ts"
import { textOf, upload } from "./content.ts"
import { Sessions } from "./Account.ts"
import type { OpenAccount } from "./Account.ts"
import { resolve } from "./recipients.ts"
import type { Resolved } from "./recipients.ts"

/** How long a send waits for a session that is being opened, in real time. */
const openMillis = 15_000

/** The id by which the far side knows a message. */
export const randomIdOf = (transportId: TransportId): Long => {
  const bytes = hash("sha256", transportId, "buffer")
  return new Long(bytes.readInt32LE(0), bytes.readInt32LE(4))
}

/** What the far side calls the message that it took; null when its answer does not say. */
const messageIdIn = (answer: tl.TypeUpdates): number | null => {
  if (answer._ === "updateShortSentMessage") return answer.id
  if (answer._ !== "updates" && answer._ !== "updatesCombined") return null
  const named = answer.updates.find((update) => update._ === "updateMessageID")
  return named?.id ?? null
}

/** How long it may take to find what the far side calls a message; without it its read is not told. */
const findMillis = 5000

/** So many of a person's answers may stand behind the latest message to that person. */
const mostAnswers = 100

const historyOf = (peer: tl.RawInputPeerUser): tl.messages.RawGetHistoryRequest => ({
  _: "messages.getHistory",
  peer,
  offsetId: 0,
  offsetDate: 0,
  addOffset: 0,
  limit: mostAnswers,
  maxId: 0,
  minId: 0,
  hash: Long.ZERO,
})

/** The latest of them that the account itself has written. */
const latestOf = (messages: ReadonlyArray<tl.TypeMessage>): number | null =>
  messages.find((each) => each._ === "message" && each.out === true)?.id ?? null

export const layerTransport: Layer.Layer<TelegramTransport, never, Sessions> = Layer.effect(
  TelegramTransport,
  Effect.gen(function* () {
    const sessions = yield* Sessions

    /** Over the number's session, or without one. */
    const over = (
      numberId: NumberId,
      use: (account: OpenAccount) => Effect.Effect<SendOutcome>,
    ): Effect.Effect<SendOutcome> =>
      Effect.suspend(() => {
        const open = sessions.openNow(numberId)
        return open === null ? overOnceOpen(numberId, use) : use(open)
      })

    const overOnceOpen = (
      numberId: NumberId,
      use: (account: OpenAccount) => Effect.Effect<SendOutcome>,
    ): Effect.Effect<SendOutcome> =>
      Effect.raceFirst(sessions.open(numberId), Effect.as(sleepInRealTime(openMillis), soon)).pipe(
        Effect.flatMap((account) => {
          if (account === null) return Effect.succeed(notConnected)
          // The store did not say what the number has, and is asked again.
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
      const common = { ...textOf(text), randomId: randomIdOf(transportId) }
      if (media === null) return { _: "messages.sendMessage", noWebpage: true, ...common } as const
      const uploaded = yield* upload(client, questions.ask, media)
      return uploaded === "unreadable"
        ? uploaded
        : ({ _: "messages.sendMedia", media: uploaded, ...common } as const)
    })

    /**
     * A message was sent before, by an attempt whose answer was lost, and what the far side calls it is not
     * told again. It is no later than the latest one to that person: it was read once that one was.
     */
    const findSent = (
      { client, hasRead, questions, sent }: OpenAccount,
      peer: tl.RawInputPeerUser,
      transportId: TransportId,
    ) =>
      Effect.gen(function* () {
        const { dialogs, messages } = yield* questions.ask((abortSignal) =>
          client.call(
            { _: "messages.getPeerDialogs", peers: [{ _: "inputDialogPeer", peer }] },
            { abortSignal },
          ),
        )
        const messageId =
          latestOf(messages) ??
          latestOf(
            yield* questions
              .ask((abortSignal) => client.call(historyOf(peer), { abortSignal }))
              .pipe(Effect.map((history) => ("messages" in history ? history.messages : []))),
          )
        const [dialog] = dialogs
        if (dialog?._ === "dialog") hasRead(peer.userId, dialog.readOutboxMaxId)
        if (messageId !== null) sent.add(peer.userId, messageId, transportId)
      }).pipe(Effect.timeoutOption(findMillis), Effect.ignore)

    /** The far side's word on a message that goes to that person. */
    const deliver = Effect.fnUntraced(function* deliver(
      account: OpenAccount,
      message: OutgoingMessage,
      { peer, peerId }: Extract<Resolved, { readonly peer: unknown }>,
      made: Exclude<Effect.Success<ReturnType<typeof request>>, "unreadable">,
    ) {
      const { client, ownChanges, questions, sent } = account
      const answer = yield* questions
        .ask((abortSignal) =>
          made._ === "messages.sendMessage"
            ? client.call({ ...made, peer }, { abortSignal })
            : client.call({ ...made, peer }, { abortSignal }),
        )
        .pipe(
          Effect.catchTag("CallFailed", (failed) =>
            isSentBefore(failed.text) ? Effect.succeed(null) : Effect.fail(failed),
          ),
        )
      if (answer === null) {
        yield* findSent(account, peer, message.transportId)
        return accepted
      }
      ownChanges.add(answer)
      const messageId = messageIdIn(answer)
      if (messageId !== null) {
        sent.add(peerId, messageId, message.transportId)
      }
      return accepted
    })

    /** What failed may say that the connection is over, or the session at all. */
    const afterFailure = (account: OpenAccount, failed: CallFailed, isSend: boolean) => {
      if (failed.code === 0 && Deferred.isDoneUnsafe(account.over)) return isSend ? unknown : soon
      const ending = endingOf(failed)
      if (ending === null) return outcomeOf(failed, isSend)
      account.ended(ending)
      return notConnected
    }

    const attempt = (
      account: OpenAccount,
      message: OutgoingMessage,
      force: boolean,
    ): Effect.Effect<SendOutcome> => {
      const { mayHaveLeft = false } = message
      let isHandedOver = false
      return Effect.gen(function* () {
        const resolved = yield* resolve(account, message.to, { force, mayHaveLeft })
        if ("outcome" in resolved) return resolved.outcome
        const made = yield* request(account, message)
        // Nothing of the message has left, and what the file is may still be there.
        if (made === "unreadable") return soon
        // A process that was frozen wakes up here, and another has the number by then.
        if (!sessions.owns(message.numberId)) return moved
        const late = outcomeOnceExpired(message, yield* Clock.currentTimeMillis)
        if (late !== null) return late
        isHandedOver = true
        return yield* deliver(account, message, resolved, made)
      }).pipe(
        Effect.catchTag("CallFailed", (failed) => {
          // What was remembered of the person holds no more, or never did for this account.
          const isInvalid = failed.text === "PEER_ID_INVALID" && isHandedOver
          // Whom a name stands for stays the same for a message that may have left.
          const isKept = mayHaveLeft && message.to.kind === "username"
          const isStale = isInvalid && !force && !isKept
          return isStale
            ? attempt(account, message, true)
            : Effect.sync(() => afterFailure(account, failed, isHandedOver))
        }),
        Effect.catchTag("NotStored", () => Effect.succeed(soon)),
      )
    }

    return TelegramTransport.of({
      dropsCopies: true,
      send: Effect.fn("TelegramTransport.send")((message: OutgoingMessage) =>
        over(message.numberId, (account) => attempt(account, message, false)),
      ),
      // Sessions are kept for as long as their events are taken: by the worker alone.
      listen: sessions.listen,
      connections: sessions.reports,
    })
  }),
)
