/**
 * The dispatch loop: claims the heads of free lanes, attempts to send them concurrently and settles
 * in batches. It renews a lane's lease during an attempt. After a crash the lease ends, and another
 * worker repeats the attempt with the same id. Its sweeps end messages that expire and those of
 * test keys.
 */
import type { ChatStore } from "../store/ChatStore.ts"
import type { NumberStore } from "../store/NumberStore.ts"
import { Clock, Context, Data, Effect, Layer, Option, Scope, Stream } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import { makeTick } from "../service/makeTick.ts"
import { endMessage, messageJson } from "../model/MessageChange.ts"
import type { Ending } from "../model/MessageChange.ts"
import { eventId, Ids, numberEventIds } from "../model/Ids.ts"
import type { EventId, MediaId, WorkspaceId } from "../model/Ids.ts"
import { sharedLimits } from "../model/Bulkhead.ts"
import {
  markMissingFiles,
  MediaFiles,
  MediaLinks,
  toMediaType,
  whyUnsendable,
} from "../model/Media.ts"
import type {
  MediaFile,
  MediaFilesError,
  MediaReference,
  MediaType,
  StoredContent,
} from "../model/Media.ts"
import { LinkDownloads, LinksBusy, unavailable } from "../service/MediaDirectory.ts"
import type { LinkTerms, MediaUnavailable } from "../service/MediaDirectory.ts"
import { DailyQuota, hasExpired } from "../model/Message.ts"
import type { Message, MessageError, QuotaLimit } from "../model/Message.ts"
import type { MessageStore } from "../store/MessageStore.ts"
import { throttled } from "../service/logThrottled.ts"
import { Numbers } from "../service/Numbers.ts"
import { drawPauseMillis } from "../model/Pacing.ts"
import { failuresAfter, pausedUntil } from "../model/SendingNumber.ts"
import type { Platform } from "../model/SendingNumber.ts"
import { WakeUp } from "../store/DueWork.ts"
import type { Work } from "../store/DueWork.ts"
import {
  laneLeaseMillis,
  isOutcomeUnknown,
  unchangedLane,
  diskRestAfter,
  stoppedUntil,
} from "../model/Lane.ts"
import type {
  LaneUpdate,
  ClaimedMessage,
  LaneQueue,
  NextOfTurn,
  Settlement,
  UnfinishedAttempt,
} from "../model/Lane.ts"
import { testAnswer, testAnswerMillis } from "../model/Conversation.ts"
import { keptIncoming } from "../model/Incoming.ts"
import type { NewReceived } from "../model/Incoming.ts"
import { toTarget } from "../model/Recipient.ts"
import { isOwned } from "../model/Shards.ts"
import { NumberOwnership } from "../service/NumberOwnership.ts"
import { TelegramTransport, WhatsAppTransport } from "../store/Transport.ts"
import type { OutgoingMedia, SendOutcome, Transport } from "../store/Transport.ts"
import { makeLeasedLoop, runLoop } from "./LeaseLoop.ts"
import { makeEndings } from "../service/makeEndings.ts"
import { Store } from "../store/Store.ts"

// Opens media for sending: a stored file directly, a link through the guarded egress into a spooled
// file (contract: Media links). Missing media fail the message. Disk errors and a full disk
// postpone it.

/** How to fetch a link when its message is sent (contract: Media links). */
const linkTerms: LinkTerms = {
  maximumBytes: 100_000_000,
  asText: "100 MB",
  slotWaitMillis: 30_000,
}

const logWaiting = (error: MediaFilesError) =>
  Effect.logWarning("a message waits for its media file", error)

const isMissing = ({ reason }: MediaFilesError): boolean => reason === "not_found"

export class NoRoom extends Data.TaggedError("NoRoom") {
  override get message() {
    return "the disk has no room for the file"
  }
}

/** The disk cannot read the file now. */
export class FileUnavailable extends Data.TaggedError("FileUnavailable")<{
  readonly cause: MediaFilesError
}> {
  override get message() {
    return "the file cannot be read at present"
  }
}

export class OutgoingMediaSource extends Context.Service<
  OutgoingMediaSource,
  {
    open(
      message: Pick<Message, "workspaceId" | "mode">,
      reference: MediaReference,
    ): Effect.Effect<
      OutgoingMedia,
      MediaUnavailable | LinksBusy | NoRoom | FileUnavailable | StoreUnavailable,
      Scope.Scope
    >
  }
>()("core/OutgoingMediaSource") {
  static readonly layer = Layer.effect(
    OutgoingMediaSource,
    Effect.gen(function* make() {
      const store = (yield* Store).media
      const files = yield* MediaFiles
      const links = yield* LinkDownloads

      const outgoing = (
        reference: MediaReference,
        stored: StoredContent,
        { fileName, mimeType }: Pick<MediaFile, "fileName" | "mimeType">,
      ): OutgoingMedia => ({
        type: reference.type ?? toMediaType(mimeType),
        fileName: reference.fileName ?? fileName,
        mimeType,
        size: stored.size,
        sha256: stored.sha256,
        content: Stream.tapError(stored.content, logWaiting),
      })

      const download = (workspaceId: WorkspaceId, reference: MediaReference, url: string) =>
        links.fetch(workspaceId, { ...reference, url }, linkTerms).pipe(
          Effect.map((file) => outgoing(reference, file.content, file)),
          // A disk that cannot store its file is not the link's fault.
          Effect.catchTag("MediaFilesError", ({ reason }) =>
            Effect.fail(reason === "full" ? new NoRoom() : new LinksBusy()),
          ),
        )

      const openFile = (reference: MediaReference, file: MediaFile | null) =>
        Effect.gen(function* open() {
          if (file === null) return yield* unavailable("The media file was deleted.")
          const reason = whyUnsendable(reference.type, file)
          if (reason !== undefined) return yield* unavailable(reason)
          const stored = yield* files.open(file.storageKey).pipe(
            Effect.tapError((error) => (isMissing(error) ? Effect.void : logWaiting(error))),
            Effect.mapError((error) =>
              isMissing(error)
                ? unavailable("The media file could not be read.")
                : new FileUnavailable({ cause: error }),
            ),
          )
          return outgoing(reference, stored, file)
        })

      const attached = (id: MediaId) =>
        Effect.map(store.find(id), (found) => (found?.deleted === false ? found.file : null))

      return OutgoingMediaSource.of({
        open: Effect.fn("OutgoingMediaSource.open")(function* open(message, reference) {
          const { attachmentId, mediaId } = reference
          if (mediaId !== null) {
            const file = yield* store.get(message.workspaceId, message.mode, mediaId)
            return yield* openFile(reference, file)
          }
          if (attachmentId !== null) {
            return yield* openFile(reference, yield* attached(attachmentId))
          }
          return yield* download(message.workspaceId, reference, reference.url ?? "")
        }),
      })
    }),
  ).pipe(Layer.provide(LinkDownloads.layer))
}

// The rules of one attempt: the last check, and what its outcome means. They keep the promise:
// never sent twice, never after cancel or expiry, always reported truthfully. Pure.

/**
 * A transport without an answer for this long counts as interrupted (contract: How messages leave).
 */
export const attemptTimeoutMillis = 60_000

/** Interrupted attempts that end in `outcome_unknown`. */
export const maximumInterruptions = 3

const unknownOutcome: MessageError = {
  code: "outcome_unknown",
  message: "It cannot be known whether the message left; it is not sent again.",
}

/** The transport's answer, or a failure of the media. */
type AttemptOutcome =
  | SendOutcome
  | { readonly _tag: "Unsendable"; readonly error: MessageError }
  | { readonly _tag: "TooLate" }
  | { readonly _tag: "NoRoom" }
  | { readonly _tag: "FileUnavailable" }

/** What an outcome means: the end of the message, or another attempt. Pure. */
export const judgeAttempt = (
  claimed: Pick<ClaimedMessage, "interruptions"> & {
    readonly message: Pick<Message, "expiresAt">
  },
  outcome: AttemptOutcome,
  dropsCopies: boolean,
  now: number,
  /** See `LaneQueue.mayAwaitNewChats`. */
  mayAwaitNewChats = false,
):
  | { readonly _tag: "End"; readonly ending: Ending }
  | {
      readonly _tag: "Again"
      readonly notBefore: number | null
      readonly unfinished: UnfinishedAttempt
    } => {
  const failed = (error: MessageError) =>
    ({ _tag: "End", ending: { trigger: "send_failed", error } }) as const
  // Refusing a repeat says nothing about earlier attempts: their copies may have arrived.
  const earlierMayHaveLeft = isOutcomeUnknown(claimed)
  const again = (notBefore: number | null, unfinished: UnfinishedAttempt) =>
    // It may have left before it expired, so `expired` could be untrue.
    (unfinished === "interrupted" || earlierMayHaveLeft) && hasExpired(claimed.message, now)
      ? failed(unknownOutcome)
      : ({ _tag: "Again", notBefore, unfinished } as const)
  switch (outcome._tag) {
    case "Accepted":
      return { _tag: "End", ending: { trigger: "send_succeeded" } }
    case "Refused":
      if (mayAwaitNewChats && !earlierMayHaveLeft) return again(null, "new_chats_closed")
      return failed(earlierMayHaveLeft ? unknownOutcome : outcome.error)
    case "Unsendable":
      return failed(earlierMayHaveLeft ? unknownOutcome : outcome.error)
    case "TooLate":
      return earlierMayHaveLeft
        ? failed(unknownOutcome)
        : { _tag: "End", ending: { trigger: "expire" } }
    case "Postponed":
      return again(now + outcome.afterMillis, "postponed")
    case "NotConnected":
      return again(null, "not_connected")
    case "NoRoom":
      return again(null, "no_room")
    case "FileUnavailable":
      return again(null, "no_file")
    case "Unknown":
      return dropsCopies && claimed.interruptions + 1 < maximumInterruptions
        ? again(null, "interrupted")
        : failed(unknownOutcome)
  }
}

/** Whether the remote may have seen the attempt: the number's rest then starts at its end. */
const mayHaveBeenSeen = ({ _tag }: AttemptOutcome): boolean =>
  _tag === "Accepted" || _tag === "Refused" || _tag === "Unknown"

/** Whether the disk keeps it waiting: its number then rests longer each time. */
const lacksDisk = ({ _tag }: AttemptOutcome): boolean =>
  _tag === "NoRoom" || _tag === "FileUnavailable"

/** Why a claimed message must not be sent after all. Pure. */
export const lastCheck = (
  claimed: Pick<ClaimedMessage, "message" | "interruptions" | "removed">,
  dropsCopies: boolean,
  now: number,
): Ending | undefined => {
  const { message, interruptions, removed } = claimed
  const over = hasExpired(message, now)
  if (!isOutcomeUnknown(claimed)) {
    if (removed) return { trigger: "cancel" }
    return over ? { trigger: "expire" } : undefined
  }
  // It may have left: `cancelled` or `expired` could be untrue, and sending again would break the
  // promise.
  const abandoned = !dropsCopies || interruptions >= maximumInterruptions
  return removed || over || abandoned
    ? { trigger: "send_failed", error: unknownOutcome }
    : undefined
}

// One attempt: last check, open the media, call the transport, settle.

/**
 * Pause before a retry when nothing reached the transport: store, disk or link fetches were
 * unavailable. Milliseconds. For a full disk see `roomRestAfter`.
 */
const pauseMillis = 1000

/** An attempt, and the media type it found, if any. */
interface AttemptResult {
  readonly outcome: AttemptOutcome
  readonly mediaType: MediaType | null
}

const attemptResult = (
  outcome: AttemptOutcome,
  mediaType: MediaType | null = null,
): AttemptResult => ({
  outcome,
  mediaType,
})

const postponed = attemptResult({ _tag: "Postponed", afterMillis: pauseMillis })

const logNoRoom = ({ number }: ClaimedMessage): Effect.Effect<void> => {
  const line = "the disk has no room for the file of a message; its number rests"
  return throttled(
    line,
    (suppressedLines) =>
      Effect.annotateLogs(Effect.logWarning(line), {
        number: number.id,
        held_back: suppressedLines,
      }),
    Effect.annotateLogs(Effect.logDebug(line), { number: number.id }),
  )
}

/** What attempts need. */
interface Attempts {
  readonly ids: Ids["Service"]
  readonly link: MediaLinks["Service"]["link"]
  readonly numbers: Numbers["Service"]
  readonly numberStore: NumberStore
  readonly queue: LaneQueue
  readonly dailyLimit: QuotaLimit
  readonly sources: OutgoingMediaSource["Service"]
  readonly markMissing: ReturnType<typeof markMissingFiles>
  readonly transports: Readonly<Record<Platform, Transport>>
  readonly chats: ChatStore
}

/** Adds the found media type, unless the type was known. */
const withMediaType = (message: Message, found: MediaType | null): Message =>
  found === null || message.media === null || message.media.type !== null
    ? message
    : { ...message, foundMediaType: found }

const settlement = (
  { ids, link }: Attempts,
  claimed: ClaimedMessage,
  ending: Ending,
  now: number,
  laneUpdate = unchangedLane,
  mediaType: MediaType | null = null,
): Settlement => {
  const { lease, number } = claimed
  const message = withMediaType(claimed.message, mediaType)
  const change = endMessage(message, ending, eventId(ids, now), now, link)
  if (change === undefined) return again(claimed, laneUpdate, null)
  return {
    _tag: "Ended",
    numberId: number.id,
    lease,
    ...laneUpdate,
    change,
  }
}

/**
 * Drops the link to a missing file from an unsent message. If the store does not answer, the link
 * stays.
 */
const marked = (
  { markMissing }: Attempts,
  claimed: ClaimedMessage,
  { trigger }: Ending,
): Effect.Effect<ClaimedMessage> =>
  trigger === "send_succeeded"
    ? Effect.succeed(claimed)
    : markMissing([claimed.message]).pipe(
        Effect.map(([message = claimed.message]) => ({ ...claimed, message })),
        Effect.orElseSucceed(() => claimed),
      )

const again = (
  { lease, message, number }: ClaimedMessage,
  laneUpdate: LaneUpdate,
  unfinished: UnfinishedAttempt | null,
): Settlement => ({
  _tag: "Again",
  numberId: number.id,
  lease,
  ...laneUpdate,
  messageId: message.id,
  unfinished,
})

/**
 * What the attempt changes in the lane: the remote's requested wait, else the pacing rest; and
 * the failures.
 */
const toLaneUpdate = (
  { ids }: Attempts,
  { diskFailuresInARow, pacing, failures }: ClaimedMessage,
  outcome: AttemptOutcome,
  now: number,
): LaneUpdate => {
  const rest = pacing === null || !mayHaveBeenSeen(outcome) ? 0 : drawPauseMillis(pacing, ids)
  const waits = outcome._tag === "Postponed" ? outcome.afterMillis : rest
  const breaker = failuresAfter(failures, outcome, now)
  return {
    notBefore: waits === 0 ? null : now + waits,
    breaker: breaker && { ...breaker, events: numberEventIds(ids, now) },
    diskRest: lacksDisk(outcome) ? diskRestAfter(diskFailuresInARow + 1, now) : null,
    endsTurn: false,
  }
}

const handOver = (
  { chats, transports }: Attempts,
  { interruptions, message, number }: ClaimedMessage,
  media: OutgoingMedia | null,
): Effect.Effect<AttemptOutcome> =>
  Effect.gen(function* sendWithQuote() {
    const { replyTo } = message
    const quote = replyTo === null ? null : yield* chats.quote(number.id, replyTo)
    return yield* transports[number.platform].send({
      numberId: number.id,
      transportId: message.transportId,
      to: toTarget(message.to),
      text: message.text,
      media,
      ...(quote !== null && { quote }),
      mayHaveLeft: isOutcomeUnknown({ interruptions }),
      expiresAt: message.expiresAt,
    })
  }).pipe(
    // Only the look at the quote fails: nothing was sent.
    Effect.orElseSucceed((): AttemptOutcome => ({ _tag: "Postponed", afterMillis: pauseMillis })),
    Effect.timeoutOrElse({
      duration: attemptTimeoutMillis,
      orElse: () => Effect.succeed<AttemptOutcome>({ _tag: "Unknown" }),
    }),
  )

/** Whether the number may still hand over: it exists, and no pause or disabled workspace stops it. */
const mayStillSend = Effect.fnUntraced(function* mayStillSend(
  { numberStore, dailyLimit }: Attempts,
  { message, number }: ClaimedMessage,
) {
  const readAt = yield* Clock.currentTimeMillis
  const facts = yield* numberStore.connection(message.workspaceId, number.id, readAt, dailyLimit)
  const now = yield* Clock.currentTimeMillis
  return facts !== null && stoppedUntil(pausedUntil(facts.pause, now), facts.isDisabled) === null
})

const handOverWith = (
  attempts: Attempts,
  claimed: ClaimedMessage,
  media: MediaReference,
): Effect.Effect<AttemptResult> =>
  Effect.scoped(
    Effect.gen(function* send() {
      const outgoing = yield* attempts.sources.open(claimed.message, media)
      // The fetch took time: the number may have been stopped, and the message may have expired.
      const maySend = yield* mayStillSend(attempts, claimed)
      const now = yield* Clock.currentTimeMillis
      if (hasExpired(claimed.message, now)) return attemptResult({ _tag: "TooLate" }, outgoing.type)
      if (!maySend) return postponed
      return attemptResult(yield* handOver(attempts, claimed, outgoing), outgoing.type)
    }),
  ).pipe(
    Effect.catchTags({
      MediaUnavailable: ({ message: reason }) =>
        Effect.succeed(
          attemptResult({
            _tag: "Unsendable",
            error: { code: "media_unavailable", message: reason },
          }),
        ),
      LinksBusy: () => Effect.succeed(postponed),
      NoRoom: () => Effect.as(logNoRoom(claimed), attemptResult({ _tag: "NoRoom" })),
      FileUnavailable: () => Effect.succeed(attemptResult({ _tag: "FileUnavailable" })),
      StoreUnavailable: () => Effect.succeed(postponed),
    }),
    Effect.annotateLogs({ message_id: claimed.message.id, number: claimed.number.id }),
  )

/** Whether a refused message goes back to wait for new chats. If the store does not answer, it fails. */
const mayAwaitNewChats = (
  { queue }: Attempts,
  { message, number }: ClaimedMessage,
  outcome: AttemptOutcome,
  now: number,
): Effect.Effect<boolean> =>
  outcome._tag === "Refused" && outcome.refusesNewChat === true
    ? Effect.orElseSucceed(queue.mayAwaitNewChats(number.id, message.id, now), () => false)
    : Effect.succeed(false)

// No span: one costs as much as all the other work on a message here.
const attempt = Effect.fnUntraced(function* attempt(attempts: Attempts, claimed: ClaimedMessage) {
  const { numbers, transports } = attempts
  const { dropsCopies } = transports[claimed.number.platform]
  const started = yield* Clock.currentTimeMillis
  const ending = lastCheck(claimed, dropsCopies, started)
  if (ending !== undefined)
    return settlement(attempts, yield* marked(attempts, claimed, ending), ending, started)
  const { media } = claimed.message
  const { mediaType, outcome } = yield* (
    media === null
      ? Effect.map(handOver(attempts, claimed, null), (attemptOutcome) =>
          attemptResult(attemptOutcome),
        )
      : handOverWith(attempts, claimed, media)
  ).pipe(
    // An adapter's bug: the message may have left.
    Effect.catchDefect((defect) =>
      Effect.as(Effect.logError("an attempt failed", defect), attemptResult({ _tag: "Unknown" })),
    ),
  )
  const now = yield* Clock.currentTimeMillis
  if (outcome._tag === "NotConnected") {
    yield* Effect.ignore(numbers.connectionChanged(claimed.number.id, "disconnected", null))
  }
  const verdict = judgeAttempt(
    claimed,
    outcome,
    dropsCopies,
    now,
    yield* mayAwaitNewChats(attempts, claimed, outcome, now),
  )
  const laneUpdate = toLaneUpdate(attempts, claimed, outcome, now)
  if (verdict._tag === "End") {
    const shown = yield* marked(attempts, claimed, verdict.ending)
    return settlement(
      attempts,
      shown,
      verdict.ending,
      now,
      { ...laneUpdate, diskRest: null },
      mediaType,
    )
  }
  const notBefore = verdict.notBefore ?? laneUpdate.notBefore
  // Closed new chats are known: the refusal tells nothing else of the number.
  const breaker = verdict.unfinished === "new_chats_closed" ? null : laneUpdate.breaker
  return again(claimed, { ...laneUpdate, breaker, notBefore }, verdict.unfinished)
})

const makeAttempts = Effect.gen(function* makeAttempts() {
  const attempts: Attempts = {
    ids: yield* Ids,
    link: (yield* MediaLinks).link,
    numbers: yield* Numbers,
    numberStore: (yield* Store).numbers,
    queue: (yield* Store).queue,
    chats: (yield* Store).chats,
    dailyLimit: yield* DailyQuota,
    sources: yield* OutgoingMediaSource,
    markMissing: markMissingFiles((yield* Store).media),
    transports: { whatsapp: yield* WhatsAppTransport, telegram: yield* TelegramTransport },
  }
  return attempts
})

/** Makes attempts that never fail, and returns their settlements. */
export const makeAttempt = Effect.map(
  makeAttempts,
  (attempts) => (claimed: ClaimedMessage) => attempt(attempts, claimed),
)

const getLeases = (claimed: ReadonlyArray<ClaimedMessage>) =>
  claimed.map(({ lease, number }) => ({ lease, numberId: number.id }))

/** Lanes of one claim. */
const claimBatch = 128

/** Messages of one turn: a longer one saves little, and a worker holds their texts. */
const longestTurn = 16

/** What is in flight in the place of a settled message, with what follows it. */
const nextOfTurn = (
  claimed: ClaimedMessage,
  next: NextOfTurn | undefined,
): ReadonlyArray<
  readonly [ClaimedMessage, { readonly claimed: ClaimedMessage; readonly leaseUntil: number }]
> => {
  const index = claimed.rest.findIndex(({ id }) => id === next?.messageId)
  const message = claimed.rest[index]
  if (next === undefined || message === undefined) return []
  const following = { ...claimed, message, rest: claimed.rest.slice(index + 1) }
  return [[claimed, { claimed: following, leaseUntil: next.leaseUntil }]]
}

export const makeDispatcher = Effect.gen(function* makeDispatcher() {
  const lanes = (yield* Store).queue
  const ownership = yield* NumberOwnership
  const wakeUp = yield* WakeUp
  const dailyLimit = yield* DailyQuota
  const attempts = yield* makeAttempts

  const settle = Effect.fnUntraced(function* settle(
    settlements: ReadonlyArray<Settlement>,
    ended: ReadonlyArray<ClaimedMessage>,
  ) {
    const { blockedByLock, comesAgain, next, settled } = yield* lanes.settle(
      settlements,
      yield* Clock.currentTimeMillis,
    )
    // A campaign may await the room in the number's queue; other processes look by themselves.
    if (wakeUp.poll === null) yield* wakeUp.wake("campaigns")
    // The end of a pause may be reported.
    if (settlements.some(({ breaker }) => breaker !== null && breaker.pause !== null)) {
      yield* wakeUp.wake("pauses")
    }
    // A waiting message may have expired, or lost its number, while in flight.
    if (settlements.some(({ _tag }) => _tag === "Again")) {
      yield* wakeUp.wake("expiry")
      yield* wakeUp.wake("orphaned")
    }
    return {
      blockedByLock,
      next: new Map(ended.flatMap((each) => nextOfTurn(each, next.get(each.message.id)))),
      // Others have the lanes of those that were passed over.
      comesAgain: comesAgain || settled.size + blockedByLock.length < settlements.length,
    }
  })

  return yield* makeLeasedLoop<ClaimedMessage, Settlement>({
    work: "lanes",
    capacity: sharedLimits.lanes,
    batch: claimBatch,
    leaseMillis: laneLeaseMillis,
    toWorkspaceId: ({ message }) => message.workspaceId,
    toDueSince: ({ dueSince }) => dueSince,
    owned: ownership.owned,
    claim: (query) =>
      Effect.flatMap(ownership.owned, (owned) => lanes.claim({ ...query, owned, dailyLimit })),
    perform: (claimed) => attempt(attempts, claimed),
    settle,
    turns: {
      most: longestTurn,
      mayGoOn: Effect.map(
        ownership.owned,
        (owned) =>
          ({ number }) =>
            isOwned(number.id, owned),
      ),
      endingTurn: (one) => ({ ...one, endsTurn: true }),
    },
    reclaim: Effect.fnUntraced(function* reclaim(claimed, leaseUntil) {
      const renewed = yield* lanes.renew(getLeases(claimed), leaseUntil)
      // The claim's facts are as old as its answer is late: the number may have been stopped since.
      const left: Array<ClaimedMessage> = []
      const stopped: Array<Settlement> = []
      for (const each of claimed) {
        if (!renewed.has(each.number.id)) continue
        if (yield* mayStillSend(attempts, each)) left.push(each)
        else stopped.push(again(each, unchangedLane, null))
      }
      if (stopped.length > 0) yield* settle(stopped, [])
      return left
    }),
    // An attempt without its lease continues: the transport may have the message by now.
    renew: (claimedMessages, leaseUntil) =>
      Effect.as(lanes.renew(getLeases(claimedMessages), leaseUntil), []),
  })
})

// Messages that end by time alone, in batches: expired ones, and those of test keys, which reach no
// transport (contract: Test mode).

const expiryBatch = 500

const { testMessages } = sharedLimits

/** `runOnce` ends one batch, does what else is due, and returns how much it did. */
const makeEndingLoop = <R>(
  work: Work,
  due: (
    store: MessageStore,
    now: number,
  ) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>,
  toEnding: (message: Message) => Ending,
  makeElse: Effect.Effect<Effect.Effect<number, StoreUnavailable>, never, R>,
) =>
  Effect.gen(function* makeLoop() {
    const store = (yield* Store).messages
    const doElse = yield* makeElse
    const endings = yield* makeEndings
    const wakeUp = yield* WakeUp
    const context = yield* Effect.context<WakeUp | Store>()
    const runOnce = Effect.gen(function* runOnce() {
      const now = yield* Clock.currentTimeMillis
      const done = yield* doElse
      const changes = yield* endings(yield* due(store, now), now, toEnding)
      if (changes.length === 0) return done
      const ended = yield* store.end(changes, { passesOver: true })
      // The number's limits may have held back the expired message but not the next one.
      if (work === "expiry") yield* wakeUp.wake("lanes")
      if (wakeUp.poll === null) yield* wakeUp.wake("campaigns")
      return ended.size + done
    })
    const run = runLoop({ work, runOnce: Effect.map(runOnce, (done) => done > 0) })
    return { runOnce, run: Effect.provideContext(run, context) }
  })

export const makeExpirer = makeEndingLoop(
  "expiry",
  (store, now) => store.expired(now, expiryBatch),
  () => ({ trigger: "expire" }),
  Effect.succeed(Effect.succeed(0)),
)

/** Changes that one commit reports. */
const reportBatch = 100

/** A loop that reports what time alone has changed. `report` answers how many changes, at most one for each id. */
const makeReporter = (
  work: Work,
  report: (
    store: Store["Service"],
    now: number,
    eventIds: ReadonlyArray<EventId>,
  ) => Effect.Effect<number, StoreUnavailable>,
) =>
  Effect.gen(function* makeLoop() {
    const store = yield* Store
    const ids = yield* Ids
    const context = yield* Effect.context<WakeUp | Store>()
    const runOnce = Effect.gen(function* runOnce() {
      const now = yield* Clock.currentTimeMillis
      const eventIds = Array.from({ length: reportBatch }, () => eventId(ids, now))
      return yield* report(store, now, eventIds)
    })
    const run = runLoop({ work, runOnce: Effect.map(runOnce, (reported) => reported > 0) })
    return { runOnce, run: Effect.provideContext(run, context) }
  })

/**
 * Reports pauses that end by themselves (contract: Events of conversations), and releases what has waited long enough
 * for new chats.
 */
export const makePauseReporter = Effect.gen(function* makePauseReporter() {
  const wakeUp = yield* WakeUp
  return yield* makeReporter(
    "pauses",
    Effect.fnUntraced(function* report({ queue }, now, eventIds) {
      const opened = yield* queue.openNewChats(now, reportBatch)
      if (opened > 0) yield* wakeUp.wake("lanes")
      return opened + (yield* queue.reportEndedPauses(now, eventIds))
    }),
  )
})

/** Stores messages as unreadable if their copy did not come in time (contract: Guarantees of conversations). */
export const makeCopyWaits = makeReporter("copies", ({ chats }, now, eventIds) =>
  chats.endCopyWaits(now, eventIds),
)

/** Phones to which test messages fail, and how. */
const failingTestPhones: Readonly<Record<string, MessageError>> = {
  "+15005550001": {
    code: "recipient_not_found",
    message: "In test mode this phone is not registered.",
  },
  "+15005550009": { code: "send_failed", message: "In test mode sending to this phone fails." },
}

/** How a due test message ends (contract: Test mode). */
const testEnding = (message: Pick<Message, "to">): Ending => {
  const target = toTarget(message.to)
  const error = target.kind === "phone" ? failingTestPhones[target.phone] : undefined
  return error === undefined ? { trigger: "send_succeeded" } : { trigger: "send_failed", error }
}

/** Applies the ticks of the phones that read test messages (contract: Test keys in conversations). */
const makeTestTicks = Effect.gen(function* makeTestTicks() {
  const { chats, messages } = yield* Store
  const applyTick = yield* makeTick
  const ids = yield* Ids
  const { link } = yield* MediaLinks
  // Callers that run a single round have none.
  const scope = Option.getOrNull(yield* Effect.serviceOption(Scope.Scope))
  /** A process that ends within that second leaves the message without an answer. */
  const answerLater = Effect.fnUntraced(function* answerLater(message: Message) {
    yield* Effect.sleep(testAnswerMillis)
    const now = yield* Clock.currentTimeMillis
    const answer = testAnswer(message, now)
    if (answer === null) return
    const received: NewReceived = {
      incoming: keptIncoming(answer),
      eventId: eventId(ids, now),
      toMessageJson: (sent) => messageJson(sent, now, link),
    }
    yield* chats.receive(message.from.id, [received], now)
  })
  return Effect.gen(function* applyTestTicks() {
    const due = yield* messages.dueTestTicks(yield* Clock.currentTimeMillis, testMessages.whole)
    for (const one of due) {
      const moved = yield* applyTick(one.numberId, one.transportId, one.tick)
      if (moved === null || testAnswer(moved, 0) === null) continue
      const answering = Effect.ignoreCause(answerLater(moved))
      yield* scope === null ? Effect.forkDetach(answering) : Effect.forkIn(answering, scope)
    }
    return due.length
  })
})

/** The loop that ends due test messages as `sent`, except to phones that always fail. */
export const makeTestModeSender = makeEndingLoop(
  "test_messages",
  (store, now) => store.dueTest(now, testMessages.whole, testMessages.share.most),
  testEnding,
  makeTestTicks,
)
