/**
 * Fetches the files of received messages (contract: Files of received messages): claims those that are due,
 * lets the transport fetch and unseal each into a temporary file, and keeps it when it is what its message
 * says. A lease holds each; after a crash it is fetched again.
 */
import { Clock, Effect } from "effect"
import type { Scope } from "effect"
import { sharedLimits } from "../model/Bulkhead.ts"
import { MediaFiles, newMediaFile } from "../model/Media.ts"
import type { MediaFilesError, SpooledContent } from "../model/Media.ts"
import type { StoredReceivedFile } from "../model/ReceivedFile.ts"
import type { StoreUnavailable } from "../model/Refusal.ts"
import { Secrets } from "../model/Secrets.ts"
import { sleep } from "../model/Time.ts"
import { logFailure } from "../service/logThrottled.ts"
import { NumberOwnership } from "../service/NumberOwnership.ts"
import { openedSource } from "../service/ReceivedFiles.ts"
import type { ClaimedFile, FileSettlement } from "../store/ReceivedFileStore.ts"
import { countReceivedFile } from "../store/Metrics.ts"
import { Store } from "../store/Store.ts"
import { FileUnavailable, TelegramTransport, WhatsAppTransport } from "../store/Transport.ts"
import { retryDelaysMillis } from "./Deliverer.ts"
import { makeLeasedLoop } from "./LeaseLoop.ts"

/** What one fetch may take, in real time. */
const fetchTimeoutMillis = 5 * 60_000

/** Longer than a fetch may take, so that a lease never runs out under it. In service time. */
const fetchLeaseMillis = 6 * 60_000

/** Moments of later tries, after the first one. */
const tryAfterMillis = retryDelaysMillis.map((_, index) =>
  retryDelaysMillis.slice(0, index + 1).reduce((sum, delay) => sum + delay, 0),
)

/** When a file that is tried since `wantedAt` is tried again, with the pauses of webhooks; null: not any more. */
const nextFetchAt = (wantedAt: number, now: number): number | null => {
  const after = tryAfterMillis.find((millis) => wantedAt + millis > now)
  return after === undefined ? null : wantedAt + after
}

type Ended = Extract<FileSettlement, { readonly _tag: "Ended" }>["state"]

/** What a fetch found: the file and its storage key, why there is none, or nothing yet. */
type Fetched =
  | { readonly file: StoredReceivedFile; readonly storageKey: string }
  | { readonly ended: Ended }
  | "again"

/** A settlement, with the key of bytes that are removed unless it takes effect. */
interface Result {
  readonly settlement: FileSettlement
  readonly storageKey: string | null
}

const reasons: Readonly<Record<FileUnavailable["reason"], Fetched>> = {
  gone: { ended: "gone" },
  refused: { ended: "refused" },
  too_large: { ended: "too_large" },
  later: "again",
}

/** Whether it is what the message says. */
const isAsDescribed = ({ sha256, size }: SpooledContent, { file }: ClaimedFile): boolean =>
  (file.size === null || file.size === size) && (file.sha256 === null || file.sha256 === sha256)

const toResult = ({ id, lease, wantedAt }: ClaimedFile, fetched: Fetched, now: number): Result => {
  const claimed = { id, lease }
  if (fetched !== "again") {
    return "ended" in fetched
      ? { settlement: { ...claimed, _tag: "Ended", state: fetched.ended }, storageKey: null }
      : {
          settlement: { ...claimed, _tag: "Ready", file: fetched.file },
          storageKey: fetched.storageKey,
        }
  }
  const dueAt = nextFetchAt(wantedAt, now)
  return dueAt === null
    ? { settlement: { ...claimed, _tag: "Ended", state: "gone" }, storageKey: null }
    : { settlement: { ...claimed, _tag: "Again", dueAt }, storageKey: null }
}

const makeFetch = Effect.gen(function* makeFetch() {
  const { receivedFiles: store } = yield* Store
  const files = yield* MediaFiles
  const secrets = yield* Secrets
  const transports = { whatsapp: yield* WhatsAppTransport, telegram: yield* TelegramTransport }

  /** The bytes, in a temporary file of the scope. */
  const spool = (claimed: ClaimedFile, source: string) => {
    const { file, maxFileBytes: maximumBytes, numberId, platform, workspaceId } = claimed
    const { fetchFile } = transports[platform]
    if (fetchFile === undefined) return Effect.fail(new FileUnavailable({ reason: "later" }))
    const { sha256, size } = file
    const request = { numberId, workspaceId, source, size, sha256, maximumBytes }
    return files.spool(fetchFile(request), maximumBytes)
  }

  const keep = Effect.fnUntraced(function* keep(claimed: ClaimedFile, content: SpooledContent) {
    if (!isAsDescribed(content, claimed)) return { ended: "refused" } as const
    const { fileName } = claimed.file
    const now = yield* Clock.currentTimeMillis
    const record = newMediaFile(claimed, content, fileName ?? "", now)
    // The name is erased with the message; the record stays for a day.
    const reservation = yield* store.reserve(claimed, { ...record, fileName: "file" })
    if (reservation === null) return "again" as const
    if (reservation._tag === "Full") return { ended: "full" } as const
    yield* content.keep
    const { mimeType, size, storageKey } = record
    const { sha256 } = content
    const file = { ...claimed.file, mimeType, size, sha256, state: "ready" } as const
    return { file, storageKey }
  })

  const getFile = Effect.fnUntraced(function* getFile(
    claimed: ClaimedFile,
  ): Effect.fn.Return<Fetched, FileUnavailable | MediaFilesError | StoreUnavailable, Scope.Scope> {
    const { numberId, remoteId, source } = claimed
    if (!files.isRetained) return { ended: "full" }
    const opened = openedSource(secrets, numberId, remoteId, source)
    if (opened === null) return { ended: "gone" }
    yield* files.room
    return yield* keep(claimed, yield* spool(claimed, opened))
  })

  return Effect.fn("MediaFetcher.fetch")(function* fetch(claimed: ClaimedFile) {
    const fetched = yield* getFile(claimed).pipe(
      Effect.scoped,
      (work) => Effect.raceFirst(work, Effect.as(sleep(fetchTimeoutMillis), "again" as const)),
      Effect.catchTags({
        FileUnavailable: ({ reason }) => Effect.succeed(reasons[reason]),
        MediaFilesError: (error): Effect.Effect<Fetched> =>
          error.reason === "full" || error.reason === "too_large"
            ? Effect.succeed({ ended: error.reason })
            : Effect.as(logFailure("a received file is fetched again", error), "again"),
        StoreUnavailable: () => Effect.succeed<Fetched>("again"),
      }),
      Effect.catchDefect((defect): Effect.Effect<Fetched> =>
        Effect.as(Effect.logError("fetching a received file broke off", defect), "again"),
      ),
    )
    return toResult(claimed, fetched, yield* Clock.currentTimeMillis)
  })
})

const countSettled = (settlement: FileSettlement): Effect.Effect<void> => {
  switch (settlement._tag) {
    case "Ready":
      return countReceivedFile("ready")
    case "Ended":
      return countReceivedFile(settlement.state)
    case "Again":
      return Effect.void
  }
}

export const makeMediaFetcher = Effect.gen(function* makeMediaFetcher() {
  const { receivedFiles: store } = yield* Store
  const files = yield* MediaFiles
  const ownership = yield* NumberOwnership

  const settle = ({ settlement, storageKey }: Result) =>
    Effect.flatMap(store.settle(settlement), (isSettled) => {
      if (isSettled) return countSettled(settlement)
      // The message was erased meanwhile: the sweep may have looked for its bytes before.
      return storageKey === null ? Effect.void : Effect.ignore(files.remove(storageKey))
    })

  return yield* makeLeasedLoop({
    work: "files",
    capacity: sharedLimits.receivedFiles,
    batch: sharedLimits.receivedFiles.whole,
    leaseMillis: fetchLeaseMillis,
    toWorkspaceId: ({ workspaceId }: ClaimedFile) => workspaceId,
    owned: ownership.owned,
    claim: (query) => Effect.flatMap(ownership.owned, (owned) => store.claim({ ...query, owned })),
    perform: yield* makeFetch,
    settle: (results) =>
      Effect.forEach(results, settle, { concurrency: "unbounded", discard: true }),
    release: (claimed) =>
      Effect.flatMap(Clock.currentTimeMillis, (dueAt) =>
        Effect.forEach(
          claimed,
          ({ id, lease }) => store.settle({ id, lease, _tag: "Again", dueAt }),
          { concurrency: "unbounded", discard: true },
        ),
      ),
  })
})
