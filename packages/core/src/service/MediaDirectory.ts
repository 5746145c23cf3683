/**
 * The media directory: files that customers upload once and send by id (contract: Media); plus link
 * downloads, attachments and the sweep. Both modes of a workspace share its storage, since test
 * files use the same disk.
 */
import { Clock, Context, Data, Effect, Exit, Layer, Schema, Stream } from "effect"
import type { Scope } from "effect"
import { Egress, OutboundRule } from "../model/Egress.ts"
import type { EgressAnswer, EgressError } from "../model/Egress.ts"
import { refuse, refuseAll, StoreUnavailable } from "../model/Refusal.ts"
import type { Failure } from "../model/Refusal.ts"
import type { MediaId, WorkspaceId } from "../model/Ids.ts"
import { authorize } from "../model/Auth.ts"
import type { AuthorizationCode, Caller, Authorized } from "../model/Auth.ts"
import { makeBulkhead, sharedLimits } from "../model/Bulkhead.ts"
import { answerRetentionMillis } from "../model/Idempotency.ts"
import type { IdempotencyCode, IdempotencyClaim, IdempotencyKey } from "../model/Idempotency.ts"
import { makeOpenReceived } from "./ReceivedFiles.ts"
import { makeIdempotent } from "./makeIdempotent.ts"
import type { IdempotentResult } from "./makeIdempotent.ts"
import { makeCursors, pageFields, queryDecoder } from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import { sleep } from "../model/Time.ts"
import {
  fetchedFileName,
  filesUnavailable,
  isWebPage,
  linkLifetimeMillis,
  MediaFiles,
  MediaFilesError,
  MediaLinks,
  mediaTypes,
  mediaUrlProblems,
  toMimeType,
  newMediaFile,
  noRoomForFile,
  promisesOtherThanWebPage,
  refuseUnkept,
  removeBytes,
  shortenedFileName,
  webPageBytes,
  whyUnsendable,
  withFittingEnding,
} from "../model/Media.ts"
import type {
  MediaStore,
  BrokenMediaGuard,
  Leftover,
  MediaFile,
  MediaType,
  SpooledContent,
  StoredContent,
} from "../model/Media.ts"
import { Store } from "../store/Store.ts"

/** Limit of an uploaded file, in bytes (contract: Media). */
export const maximumFileBytes = 64 * 1024 * 1024

/** A completely read upload. */
export interface Upload {
  /** From `uploadedFileName`. */
  readonly fileName: string
  readonly content: SpooledContent
}

/** The file behind a link. */
export interface OpenedFile {
  /** The name in the link. */
  readonly fileName: string
  readonly mimeType: string
  readonly content: StoredContent
}

/** The query parameters of GET /media. */
export const MediaQuery = Schema.Struct({
  type: Schema.optionalKey(Schema.Literals(mediaTypes)),
  ...pageFields,
})

export interface ListMedia extends ListPage {
  readonly type?: MediaType | undefined
}

const decodeList = queryDecoder(MediaQuery)

/** What keeps uploads. */
interface Uploads {
  readonly store: MediaStore
  /** Removes the bytes of a file. */
  readonly remove: ReturnType<typeof removeBytes>
}

/** Forgets an upload when its bytes were not kept. */
const discard = ({ remove, store }: Uploads, leftover: Leftover) =>
  Effect.andThen(store.discard(leftover.id), remove(leftover))

const refuseBroken = (guard: BrokenMediaGuard) =>
  guard === "idempotency"
    ? refuse("idempotency_in_progress", { retryAfter: 1 })
    : new StoreUnavailable({ operation: "media.commit", cause: "the reservation lapsed" })

/** Reserves room, keeps the bytes and commits. */
const keepNew = Effect.fnUntraced(function* keepNew(
  uploads: Uploads,
  caller: Authorized,
  { content, fileName }: Upload,
  claim: IdempotencyClaim | null,
) {
  const { storageKey } = content
  const file = newMediaFile(caller, content, fileName, yield* Clock.currentTimeMillis)
  const limit = caller.workspace.plan?.mediaStorageBytes ?? 0
  const reservation = yield* uploads.store.reserve(file, limit)
  if (reservation._tag === "Full") {
    return yield* refuse("storage_full", { details: { used: reservation.used, limit } })
  }
  const { id } = reservation
  yield* content.keep.pipe(
    Effect.mapError(filesUnavailable("media.keep")),
    Effect.tapError(() => Effect.ignore(discard(uploads, { id, storageKey }))),
  )
  // If this is uncertain, the sweep decides by the store.
  const broken = yield* uploads.store.commit(id, claim, yield* Clock.currentTimeMillis)
  if (broken !== null) {
    yield* discard(uploads, { id, storageKey })
    return yield* refuseBroken(broken)
  }
  return { ...file, id }
})

export class MediaDirectory extends Context.Service<
  MediaDirectory,
  {
    /**
     * POST /media: stores an uploaded file. Fails with `storage_full` (`used` and `limit` in
     * bytes), the codes of idempotency, and `validation_failed` without a disk.
     */
    upload(
      caller: Caller,
      upload: Upload,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<
      IdempotentResult<MediaFile>,
      Failure<
        | "media_not_found"
        | AuthorizationCode
        | IdempotencyCode
        | "validation_failed"
        | "storage_full"
        | "service_unavailable"
      >
    >
    /** GET /media: newest first. */
    list(
      caller: Caller,
      query: ListMedia,
    ): Effect.Effect<
      CursorPage<MediaFile>,
      Failure<AuthorizationCode | "validation_failed" | "invalid_cursor">
    >
    /** GET /media/{id}. Fails with `media_not_found`. */
    get(
      caller: Caller,
      id: MediaId | undefined,
    ): Effect.Effect<MediaFile, Failure<AuthorizationCode | "media_not_found">>
    /**
     * DELETE /media/{id}: waiting messages with this file will fail with `media_unavailable`. Fails
     * with `media_not_found`.
     */
    delete(
      caller: Caller,
      id: MediaId | undefined,
    ): Effect.Effect<MediaId, Failure<AuthorizationCode | "media_not_found">>
    /**
     * The file for a link's two path segments. Fails with `not_found`: forged, expired or deleted.
     * That of a received message is fetched first; fails with `service_unavailable` when that takes
     * longer than 30 s.
     */
    open(
      token: string,
      segment: string,
    ): Effect.Effect<OpenedFile, Failure<"not_found" | "service_unavailable">>
  }
>()("core/MediaDirectory") {
  static readonly layer = Layer.effect(
    MediaDirectory,
    Effect.gen(function* make() {
      const { media: store, workspaces } = yield* Store
      const files = yield* MediaFiles
      const idempotent = yield* makeIdempotent
      const cursors = yield* makeCursors
      const { read } = yield* MediaLinks
      const openReceived = yield* makeOpenReceived

      const remove = removeBytes(store, files)
      const uploads: Uploads = { store, remove }
      const notFound = refuse("media_not_found", { inPath: true })

      const again = Effect.fnUntraced(function* again([id]: ReadonlyArray<number>) {
        const found = id === undefined ? null : yield* store.find(id as MediaId)
        return found === null ? yield* notFound : found.file
      })

      return MediaDirectory.of({
        upload: Effect.fn("MediaDirectory.upload")(function* keep(input, upload, requested) {
          const caller = yield* authorize(input, "uploadMedia")
          const unkept = refuseUnkept(files, "file")
          if (unkept !== undefined) return yield* unkept
          return yield* idempotent.run(caller, requested, {
            work: (claim) => keepNew(uploads, caller, upload, claim),
            again,
          })
        }),
        list: Effect.fn("MediaDirectory.list")(function* list(input, request) {
          const { mode, workspaceId } = yield* authorize(input, "listMedia")
          const query = yield* Effect.fromResult(decodeList(request))
          const type = query.type ?? null
          const binding = ["media", workspaceId, mode, type]
          return yield* cursors.page(query, binding, (page) =>
            store.list(workspaceId, mode, type, page),
          )
        }),
        get: Effect.fn("MediaDirectory.get")(function* get(input, id) {
          const { mode, workspaceId } = yield* authorize(input, "getMedia")
          const file = id === undefined ? null : yield* store.get(workspaceId, mode, id)
          return file ?? (yield* notFound)
        }),
        delete: Effect.fn("MediaDirectory.delete")(function* deleteFile(input, id) {
          const { mode, workspaceId } = yield* authorize(input, "deleteMedia")
          const file = id === undefined ? null : yield* store.delete(workspaceId, mode, id)
          if (file === null) return yield* notFound
          yield* remove(file)
          return file.id
        }, Effect.uninterruptible),
        open: Effect.fn("MediaDirectory.open")(function* open(token, segment) {
          const linked = read(token, segment, yield* Clock.currentTimeMillis)
          if (linked !== undefined && "received" in linked) {
            return yield* openReceived(linked.received, linked.fileName)
          }
          const found = linked === undefined ? null : yield* store.find(linked.id)
          if (linked === undefined || found === null || found.deleted) {
            return yield* refuse("not_found")
          }
          // The sweep deletes a deleted workspace's bytes later; its links end now.
          if ((yield* workspaces.get(found.file.workspaceId)) === null) {
            return yield* refuse("not_found")
          }
          const content = yield* files.open(found.file.storageKey).pipe(
            Effect.mapError((error) =>
              // Deleted between the two reads.
              error.reason === "not_found"
                ? refuse("not_found")
                : filesUnavailable("media.open")(error),
            ),
          )
          return { fileName: linked.fileName, mimeType: found.file.mimeType, content }
        }),
      })
    }),
  )
}

/** Longest time from reservation to commit, unless the process died. */
const reservationMillis = 60 * 60 * 1000

/**
 * How long an attachment outlives its last message's end (contract: Version 1: sends), so that
 * links in that event keep working. An uncommitted call has that long too.
 */
const attachmentMillis = linkLifetimeMillis

/** Files per round of the sweep. */
const batch = 100

/**
 * The media sweep: completes interrupted uploads and deletions, and deletes files of deleted
 * workspaces and unneeded attachments. Several workers may run it at once.
 */
export const makeMediaSweep = Effect.gen(function* makeMediaSweep() {
  const store = (yield* Store).media
  const files = yield* MediaFiles

  const remove = (leftover: Leftover) =>
    files.remove(leftover.storageKey).pipe(
      Effect.as<ReadonlyArray<Leftover>>([leftover]),
      Effect.catch((error) =>
        Effect.as(Effect.logWarning("a media file could not be removed", error), []),
      ),
    )

  /** Deletes one batch of leftover files; returns how many. */
  const removeSome = Effect.gen(function* removeSome() {
    const now = yield* Clock.currentTimeMillis
    const leftovers = yield* store.leftovers({
      reservedBefore: now - reservationMillis,
      limit: batch,
    })
    const removed = (yield* Effect.forEach(leftovers, remove)).flat()
    if (removed.length > 0) yield* store.removed(removed.map(({ id }) => id))
    return removed.length
  })

  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* store.sweepAttachments({ now, unusedSince: now - attachmentMillis })
    yield* Effect.repeat(removeSome, { while: (removed) => removed === batch })
    // A repeated upload shows the file's record for a day.
    yield* store.forget(now - answerRetentionMillis)
    yield* files.removeAbandoned.pipe(
      Effect.catch((error) => Effect.logWarning("abandoned uploads could not be removed", error)),
    )
  })
})

// Downloads customers' links through the guarded egress into a spooled file, for sending and during
// version 1 sends. Only size limit and waiting time differ. A file keeps its slot while it exists,
// which bounds the disk space in use.

/** For all tries together, in real time (contract: Media links, Version 1: sends). */
const timeoutMillis = 30_000

const redirects = 3

/** Tries when the remote fails or the connection breaks. */
const tries = 3

/** The size limit, its wording, and how long to wait for a slot in real time. */
export interface LinkTerms {
  readonly maximumBytes: number
  readonly asText: string
  readonly slotWaitMillis: number
}

/** No file, or none that may be sent; the message says why. */
export class MediaUnavailable extends Data.TaggedError("MediaUnavailable")<{
  readonly message: string
}> {}

/** All download slots are taken, of this workspace or in total. */
export class LinksBusy extends Data.TaggedError("LinksBusy") {
  override get message() {
    return "too many links are being fetched"
  }
}

export const unavailable = (message: string) => new MediaUnavailable({ message })

const webPage = unavailable("The media link answered with a web page instead of the file.")

const coded = unavailable("The media link answered in a content coding that cannot be undone.")

const unfetched = (reason: EgressError["reason"]) =>
  unavailable(`The media link could not be fetched: ${reason}.`)

const noAnswer = unavailable("The media link did not answer with the file.")

/** A link, and what the send says about its file. */
interface MediaLinkRequest {
  readonly url: string
  readonly type: MediaType | null
  readonly fileName: string | null
}

interface DownloadedFile {
  readonly content: SpooledContent
  /** The given name, else one with a fitting extension. */
  readonly fileName: string
  readonly mimeType: string
}

/** The default file name. */
const unnamed = "file"

const answered = (
  answer: EgressAnswer,
): Effect.Effect<EgressAnswer, MediaUnavailable | "again"> => {
  if (answer.status === 206) {
    return Effect.fail(unavailable("The media link answered with only a part of its file."))
  }
  if (answer.status >= 200 && answer.status < 300) return Effect.succeed(answer)
  return answer.status >= 500
    ? Effect.fail("again")
    : Effect.fail(unavailable(`The media link answered with HTTP ${answer.status}.`))
}

/** Fails where a web page, such as a login, answers in place of the file that the send promises. */
const refuseWebPage = (
  link: MediaLinkRequest,
  { headers }: EgressAnswer,
  content: SpooledContent,
): Effect.Effect<void, MediaUnavailable | MediaFilesError> => {
  if (!promisesOtherThanWebPage(link)) return Effect.void
  return content.part(0, webPageBytes).pipe(
    Stream.decodeText,
    Stream.mkString,
    Effect.flatMap((beginning) =>
      isWebPage(headers["content-type"], content.mimeType, beginning)
        ? Effect.fail(webPage)
        : Effect.void,
    ),
  )
}

export class LinkDownloads extends Context.Service<
  LinkDownloads,
  {
    /**
     * Downloads a link into the scope, which also holds its slot. Fails with `LinksBusy` when no
     * slot became free in time, and with `MediaFilesError` only when storing fails, which is not
     * the link's fault. A full disk fails with `full` before the download. Empty files are refused,
     * and other files where an image is required.
     */
    fetch(
      workspaceId: WorkspaceId,
      link: MediaLinkRequest,
      terms: LinkTerms,
    ): Effect.Effect<DownloadedFile, MediaUnavailable | LinksBusy | MediaFilesError, Scope.Scope>
  }
>()("core/LinkDownloads") {
  static readonly layer = Layer.effect(
    LinkDownloads,
    Effect.gen(function* make() {
      const egress = yield* Egress
      const files = yield* MediaFiles
      const permits = makeBulkhead<WorkspaceId>(sharedLimits.linkedFiles)
      return LinkDownloads.of({
        fetch: (workspaceId, link, terms) =>
          files.room.pipe(
            Effect.andThen(
              Effect.raceFirst(
                permits.acquire(workspaceId),
                Effect.andThen(sleep(terms.slotWaitMillis), Effect.fail(new LinksBusy())),
              ),
            ),
            Effect.andThen(download(egress, files, workspaceId, link, terms)),
          ),
      })
    }),
  )
}

const download = (
  egress: typeof Egress.Service,
  files: typeof MediaFiles.Service,
  workspaceId: WorkspaceId,
  link: MediaLinkRequest,
  { asText, maximumBytes }: LinkTerms,
): Effect.Effect<DownloadedFile, MediaUnavailable | MediaFilesError, Scope.Scope> =>
  egress.fetch(link.url, { maximumBytes, timeoutMillis, redirects }, workspaceId).pipe(
    Effect.flatMap(answered),
    Effect.flatMap((answer) =>
      Effect.flatMap(files.spool(answer.body, maximumBytes), (content) =>
        Effect.as(refuseWebPage(link, answer, content), downloaded(link, answer, content)),
      ),
    ),
    Effect.catchTags({
      EgressError: ({ reason }) =>
        reason === "connection" || reason === "timeout"
          ? Effect.fail("again" as const)
          : Effect.fail(reason === "coding" ? coded : unfetched(reason)),
      MediaFilesError: (error) =>
        Effect.fail(
          error.reason === "too_large"
            ? unavailable(`The media file is larger than ${asText}.`)
            : error,
        ),
    }),
    Effect.retry({ times: tries - 1, while: (error) => error === "again" }),
    Effect.mapError((error) => (error === "again" ? noAnswer : error)),
    // The limit covers all tries: afterwards message or call go on without the file.
    (fetched) =>
      Effect.raceFirst(fetched, Effect.andThen(sleep(timeoutMillis), Effect.fail(noAnswer))),
    Effect.tap(({ content: { size }, mimeType }) => {
      const reason = whyUnsendable(link.type, { mimeType, size })
      return reason === undefined ? Effect.void : Effect.fail(unavailable(reason))
    }),
  )

const downloaded = (
  link: MediaLinkRequest,
  answer: EgressAnswer,
  content: SpooledContent,
): DownloadedFile => {
  const name = link.fileName ?? fetchedFileName(answer, link.url)
  const mimeType = toMimeType(content.mimeType, name)
  const fitting = withFittingEnding(name === "" ? unnamed : name, mimeType)
  return { content, fileName: link.fileName ?? shortenedFileName(fitting), mimeType }
}

// Attachments: files that come with one send and belong only to it (contract: Version 1: sends).
// They are uploaded or downloaded during the call, outside the media directory and its storage. A
// refused or interrupted call deletes them with its scope, unless a message has them.

/** Downloads during the call (contract: Version 1: sends). */
const linkTerms: LinkTerms = {
  maximumBytes: 100 * 1024 * 1024,
  asText: "100 MiB",
  slotWaitMillis: 5000,
}

/** A file stored for the messages of one send. */
export type Attachment = Pick<MediaFile, "id" | "type" | "mimeType" | "fileName" | "size">

/**
 * Limit for all attachments of a workspace, in bytes (`ATTACHMENT_BYTES`; contract: Configuration).
 */
export const AttachmentBytes = Context.Reference<number>("core/AttachmentBytes", {
  defaultValue: () => sharedLimits.attachmentBytes.share.most,
})

export class Attachments extends Context.Service<
  Attachments,
  {
    /**
     * Stores an uploaded file. Fails with `storage_full` (`used` and `limit` in bytes, of
     * attachments) when the workspace has no room for it. The scope is that of the send.
     */
    fromUpload(
      caller: Caller,
      upload: Upload,
    ): Effect.Effect<
      Attachment,
      Failure<AuthorizationCode | "validation_failed" | "storage_full" | "service_unavailable">,
      Scope.Scope
    >
    /**
     * Downloads and stores a link: at most 100 MiB, 30 s, 3 redirects. Fails with
     * `invalid_media_url` when the link is not allowed, the file is unavailable or empty, or an
     * image is required. Fails with `service_unavailable` when all slots are taken or the disk is
     * full, and with `storage_full` as `fromUpload`. The scope is that of the send.
     */
    fromLink(
      caller: Caller,
      link: MediaLinkRequest,
    ): Effect.Effect<
      Attachment,
      Failure<
        | AuthorizationCode
        | "validation_failed"
        | "invalid_media_url"
        | "storage_full"
        | "service_unavailable"
      >,
      Scope.Scope
    >
  }
>()("core/Attachments") {
  static readonly layer = Layer.effect(
    Attachments,
    Effect.gen(function* make() {
      const store = (yield* Store).media
      const files = yield* MediaFiles
      const egress = yield* Egress
      const links = yield* LinkDownloads
      const rule = yield* OutboundRule
      const limit = yield* AttachmentBytes
      const remove = removeBytes(store, files)

      const abandon = (id: MediaId, storageKey: string) =>
        Effect.flatMap(store.detach(id), (detached) =>
          detached ? remove({ id, storageKey }) : Effect.void,
        ).pipe(Effect.catch((error) => Effect.logWarning("an attachment is removed later", error)))

      const attach = (caller: Authorized, { content, fileName }: Upload) =>
        Effect.gen(function* () {
          const unkept = refuseUnkept(files, field)
          if (unkept !== undefined) return yield* unkept
          const { storageKey } = content
          const file = newMediaFile(caller, content, fileName, yield* Clock.currentTimeMillis)
          const attached = yield* store.attach(file, limit)
          if (attached._tag === "Full") {
            return yield* refuse("storage_full", {
              message: "The attachments of the workspace's messages take all the room they have.",
              details: { used: attached.used, limit },
            })
          }
          const { id } = attached
          yield* content.keep.pipe(
            Effect.mapError(filesUnavailable("attachment.keep")),
            Effect.tapError(() => abandon(id, storageKey)),
          )
          return { ...file, id }
        }).pipe((keep) =>
          Effect.acquireRelease(keep, ({ id, storageKey }, exit) =>
            isKnown(exit) ? abandon(id, storageKey) : Effect.void,
          ),
        )

      return Attachments.of({
        fromUpload: Effect.fn("Attachments.fromUpload")(function* fromUpload(input, upload) {
          return yield* attach(yield* authorize(input, "sendMessage"), upload)
        }),
        fromLink: Effect.fn("Attachments.fromLink")(function* fromLink(input, link) {
          const caller = yield* authorize(input, "sendMessage")
          const { url } = link
          const [unreadable] = mediaUrlProblems({ url }, rule)
          if (unreadable !== undefined) return yield* refuseAll(unreadable, [])
          if (!(yield* egress.allows(url, caller.workspaceId)))
            return yield* refuse(code, { field })
          const { workspaceId } = caller
          const { content, fileName } = yield* links.fetch(workspaceId, link, linkTerms).pipe(
            Effect.catchTags({
              LinksBusy: () => Effect.fail(refuse("service_unavailable", { retryAfter: 5 })),
              MediaUnavailable: ({ message }) => Effect.fail(refuse(code, { field, message })),
              MediaFilesError: (error) =>
                error.reason === "full"
                  ? Effect.fail(noRoomForFile)
                  : Effect.fail(filesUnavailable("attachment.spool")(error)),
            }),
          )
          return yield* attach(caller, { content, fileName })
        }),
      })
    }),
  ).pipe(Layer.provide(LinkDownloads.layer))
}

const code = "invalid_media_url"
const field = "media.url"

/**
 * Whether the send's outcome is known. If the store did not answer, a message may still appear, so
 * the file is left to the sweep.
 */
const isKnown = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) ||
  !exit.cause.reasons.some(
    (reason) =>
      reason._tag === "Die" || (reason._tag === "Fail" && reason.error instanceof StoreUnavailable),
  )
