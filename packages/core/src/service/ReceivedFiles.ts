/**
 * Files of received messages (contract: Files of received messages): what fetching them needs, sealed, and
 * their links, which wait while a file is still fetched.
 */
import { Clock, Effect, Result } from "effect"
import { eventId, Ids } from "../model/Ids.ts"
import type { NumberId, ReceivedMessageId } from "../model/Ids.ts"
import { filesUnavailable, MediaFiles, MediaLinks } from "../model/Media.ts"
import { messageJson } from "../model/MessageChange.ts"
import { keptIncoming } from "../model/Incoming.ts"
import type { Incoming, NewReceived, ReceivedOutcome } from "../model/Incoming.ts"
import { refuse } from "../model/Refusal.ts"
import { Secrets } from "../model/Secrets.ts"
import { RealTime, sleep } from "../model/Time.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { Store } from "../store/Store.ts"

/** Which record it belongs to: it opens nowhere else. */
const sourceContext = (numberId: NumberId, remoteId: string) =>
  `file of message ${remoteId} of number ${numberId}`

type Sealing = Pick<typeof Secrets.Service, "seal" | "open">

/** What fetching a file needs; null when another secrets key sealed it. */
export const openedSource = (
  { open }: Sealing,
  numberId: NumberId,
  remoteId: string,
  sealed: string,
): string | null => Result.getOrNull(open(sourceContext(numberId, remoteId), sealed))

const sealedSource = ({ seal }: Sealing, numberId: NumberId, incoming: Incoming): Incoming => {
  if (incoming._tag !== "Message") return incoming
  const { fileSource = null, remoteId } = incoming
  return fileSource === null
    ? incoming
    : { ...incoming, fileSource: seal(sourceContext(numberId, remoteId), fileSource) }
}

/**
 * Makes what transports tell as stores take it: each with what is kept of it, sealed what its file is fetched
 * with, and what its event is made of.
 */
export const makeNewReceived = Effect.gen(function* makeNewReceived() {
  const ids = yield* Ids
  const secrets = yield* Secrets
  const { link, receivedLink } = yield* MediaLinks
  return (
    numberId: NumberId,
    incoming: ReadonlyArray<Incoming>,
    now: number,
  ): ReadonlyArray<NewReceived> =>
    incoming.map((one) => ({
      incoming: sealedSource(secrets, numberId, keptIncoming(one)),
      eventId: eventId(ids, now),
      link: receivedLink,
      toMessageJson: (message) => messageJson(message, now, link),
    }))
})

/**
 * Wakes what fetches files and what ends waits for copies, once that was received and stored. Also what sends: messages
 * may have waited for their recipient to write (see `newChatsUntil`); a store with a poll finds them by itself.
 */
export const wakeForReceived = Effect.fnUntraced(function* wakeForReceived(
  { poll, wake }: Pick<typeof WakeUp.Service, "poll" | "wake">,
  received: ReadonlyArray<Incoming>,
  outcomes: ReadonlyArray<ReceivedOutcome>,
) {
  if (received.some((one) => one._tag === "Message" && one.file !== null)) yield* wake("files")
  if (outcomes.some(({ became }) => became === "waiting")) yield* wake("copies")
  if (poll === null && outcomes.some(({ became }) => became === "stored")) yield* wake("lanes")
})

/** How long a link waits for its file, in real time. */
const waitMillis = 30_000

/** Between two tries at it. */
const lookMillis = 200

/** Opens the file of a link, once it is fetched. */
export const makeOpenReceived = Effect.gen(function* makeOpenReceived() {
  const { receivedFiles: store } = yield* Store
  const files = yield* MediaFiles
  const wakeUp = yield* WakeUp
  const { stopwatch } = yield* RealTime
  const notFound = refuse("not_found")

  /** The file that is kept, once it is. */
  const fetched = Effect.fnUntraced(function* fetched(id: ReceivedMessageId) {
    const waited = yield* stopwatch
    for (let tries = 0; ; tries++) {
      const found = yield* store.find(id)
      if (found === null) return yield* notFound
      if (found.stored !== null) return found.stored
      if (found.state !== "remote") return yield* notFound
      if (waited() >= waitMillis) return yield* refuse("service_unavailable", { retryAfter: 5 })
      if (tries === 0) {
        const now = yield* Clock.currentTimeMillis
        yield* commitAndWake(store.request(id, now), wakeUp.wake("files"))
      }
      yield* sleep(lookMillis)
    }
  })

  return Effect.fnUntraced(function* openReceived(id: ReceivedMessageId, fileName: string) {
    const { mimeType, storageKey } = yield* fetched(id)
    const content = yield* files.open(storageKey).pipe(
      Effect.mapError((error) =>
        // Erased between the two reads.
        error.reason === "not_found" ? notFound : filesUnavailable("receivedFile.open")(error),
      ),
    )
    return { fileName, mimeType, content }
  })
})
