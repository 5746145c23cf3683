/**
 * One attempt to send a claimed message: it is checked a last time, its media are opened, the
 * transport is asked, and what that means for the message (`message/attemptOutcome.ts`) is settled.
 */
import { Clock, Effect } from "effect"
import { Ids, eventId } from "../Ids.ts"
import type { MediaType } from "../media/contentType.ts"
import { MediaStore } from "../media/Media.ts"
import type { MediaReference } from "../media/Media.ts"
import { MediaLinks } from "../media/MediaLinks.ts"
import { markMissingFiles } from "../media/missingFiles.ts"
import { OutgoingMediaSource } from "../media/OutgoingMediaSource.ts"
import { endMessage } from "../message/MessageChange.ts"
import type { Ending } from "../message/MessageChange.ts"
import {
  attemptTimeoutMillis,
  judgeAttempt,
  lastCheck,
  mayHaveBeenSeen,
} from "../message/attemptOutcome.ts"
import type { AttemptOutcome } from "../message/attemptOutcome.ts"
import { hasExpired } from "../message/Message.ts"
import type { Message } from "../message/Message.ts"
import { strikesAfter } from "../number/Breaker.ts"
import { Numbers } from "../number/Numbers.ts"
import { rarely } from "../monitoring/rareLog.ts"
import { drawRestMillis } from "../number/Pacing.ts"
import { mayHaveLeft } from "../queue/Lane.ts"
import { noAftermath, roomRestAfter } from "../queue/LaneQueue.ts"
import type { Aftermath, ClaimedMessage, Settlement } from "../queue/LaneQueue.ts"
import { targetOf } from "../recipient/Recipient.ts"
import { TelegramTransport, WhatsAppTransport } from "../transport/Transport.ts"
import type { OutgoingMedia } from "../transport/Transport.ts"

/**
 * How long to wait before another try where nothing was handed over, because the store or the disk of
 * media files did not answer or too many links were being fetched. Milliseconds. A disk without room
 * has pauses that grow (see `roomRestAfter`).
 */
const pauseMillis = 1000

/** An attempt, with what its media turned out to be; null when there was none or it could not be had. */
interface Made {
  readonly outcome: AttemptOutcome
  readonly mediaType: MediaType | null
}

const made = (outcome: AttemptOutcome, mediaType: MediaType | null = null): Made => ({
  outcome,
  mediaType,
})

const postponed = made({ _tag: "Postponed", afterMillis: pauseMillis })

const logNoRoom = ({ number }: ClaimedMessage): Effect.Effect<void> => {
  const line = "the disk has no room for the file of a message; its number rests"
  return rarely(
    line,
    (heldBack) =>
      Effect.annotateLogs(Effect.logWarning(line), { number: number.id, held_back: heldBack }),
    Effect.annotateLogs(Effect.logDebug(line), { number: number.id }),
  )
}

/** The message with what its media turned out to be, where nothing had told it. */
const withMediaType = (message: Message, found: MediaType | null): Message =>
  found === null || message.media === null || message.media.type !== null
    ? message
    : { ...message, foundMediaType: found }

/** Makes attempts; how to settle each. They never fail. */
export const makeAttempt = Effect.gen(function* () {
  const ids = yield* Ids
  const { link } = yield* MediaLinks
  const numbers = yield* Numbers
  const sources = yield* OutgoingMediaSource
  const markMissing = markMissingFiles(yield* MediaStore)
  const transports = {
    whatsapp: yield* WhatsAppTransport,
    telegram: yield* TelegramTransport,
  }

  const settlement = (
    claimed: ClaimedMessage,
    ending: Ending,
    now: number,
    aftermath = noAftermath,
    mediaType: MediaType | null = null,
  ): Settlement => {
    const { lease, number } = claimed
    const message = withMediaType(claimed.message, mediaType)
    const change = endMessage(message, ending, eventId(ids, now), now, link)
    if (change === undefined) return again(claimed, aftermath, false)
    return {
      _tag: "Ended",
      numberId: number.id,
      lease,
      ...aftermath,
      change,
    }
  }

  /** What ends unsent shows no link to a file that is gone. Where the store is silent, the link stays. */
  const marked = (claimed: ClaimedMessage, { trigger }: Ending): Effect.Effect<ClaimedMessage> =>
    trigger === "send_succeeded"
      ? Effect.succeed(claimed)
      : markMissing([claimed.message]).pipe(
          Effect.map(([message = claimed.message]) => ({ ...claimed, message })),
          Effect.orElseSucceed(() => claimed),
        )

  const again = (
    { lease, message, number }: ClaimedMessage,
    aftermath: Aftermath,
    interrupted: boolean,
  ): Settlement => ({
    _tag: "Again",
    numberId: number.id,
    lease,
    ...aftermath,
    messageId: message.id,
    interrupted,
  })

  /**
   * What the attempt leaves behind in the lane: the wait that the remote server asked for, also where the
   * message has ended meanwhile; else the rest of its pacing; and strikes.
   */
  const aftermathOf = (
    { noRoomInARow, pacing, strikes }: ClaimedMessage,
    outcome: AttemptOutcome,
    now: number,
  ): Aftermath => {
    const rest = pacing === null || !mayHaveBeenSeen(outcome) ? 0 : drawRestMillis(pacing, ids)
    const waits = outcome._tag === "Postponed" ? outcome.afterMillis : rest
    return {
      notBefore: waits === 0 ? null : now + waits,
      breaker: strikesAfter(strikes, outcome, now),
      noRoom: outcome._tag === "NoRoom" ? roomRestAfter(noRoomInARow + 1, now) : null,
    }
  }

  const handOver = (
    { interruptions, message, number }: ClaimedMessage,
    media: OutgoingMedia | null,
  ): Effect.Effect<AttemptOutcome> =>
    Effect.suspend(() =>
      transports[number.platform].send({
        numberId: number.id,
        transportId: message.transportId,
        to: targetOf(message.to),
        text: message.text,
        media,
        mayHaveLeft: mayHaveLeft({ interruptions }),
        expiresAt: message.expiresAt,
      }),
    ).pipe(
      Effect.timeoutOrElse({
        duration: attemptTimeoutMillis,
        orElse: () => Effect.succeed<AttemptOutcome>({ _tag: "Unknown" }),
      }),
    )

  const handOverWith = (claimed: ClaimedMessage, media: MediaReference): Effect.Effect<Made> =>
    Effect.scoped(
      Effect.gen(function* () {
        const outgoing = yield* sources.open(claimed.message, media)
        // Fetching took time: what expired meanwhile is not handed over.
        const now = yield* Clock.currentTimeMillis
        return hasExpired(claimed.message, now)
          ? made({ _tag: "TooLate" }, outgoing.type)
          : made(yield* handOver(claimed, outgoing), outgoing.type)
      }),
    ).pipe(
      Effect.catchTags({
        MediaUnavailable: ({ message: reason }) =>
          Effect.succeed(
            made({
              _tag: "Unsendable",
              error: { code: "media_unavailable", message: reason },
            }),
          ),
        LinksBusy: () => Effect.succeed(postponed),
        NoRoom: () => Effect.as(logNoRoom(claimed), made({ _tag: "NoRoom" })),
        StoreUnavailable: () => Effect.succeed(postponed),
      }),
    )

  // Without a span: each costs as much as all that is done for a message here.
  return Effect.fnUntraced(function* (claimed: ClaimedMessage) {
    const { dropsCopies } = transports[claimed.number.platform]
    const started = yield* Clock.currentTimeMillis
    const ending = lastCheck(claimed, dropsCopies, started)
    if (ending !== undefined) return settlement(yield* marked(claimed, ending), ending, started)
    const { media } = claimed.message
    const { mediaType, outcome } = yield* (
      media === null
        ? Effect.map(handOver(claimed, null), (told) => made(told))
        : handOverWith(claimed, media)
    ).pipe(
      // A bug in an adapter: it cannot be known how far the attempt got.
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("an attempt broke off", defect), made({ _tag: "Unknown" })),
      ),
    )
    const now = yield* Clock.currentTimeMillis
    if (outcome._tag === "NotConnected") {
      yield* Effect.ignore(numbers.connectionChanged(claimed.number.id, "disconnected", null))
    }
    const verdict = judgeAttempt(claimed, outcome, dropsCopies, now)
    const aftermath = aftermathOf(claimed, outcome, now)
    if (verdict._tag === "End") {
      const shown = yield* marked(claimed, verdict.ending)
      return settlement(shown, verdict.ending, now, { ...aftermath, noRoom: null }, mediaType)
    }
    const notBefore = verdict.notBefore ?? aftermath.notBefore
    return again(claimed, { ...aftermath, notBefore }, verdict.interrupted)
  })
})
