/**
 * The media directory: files that customers upload once and send by their id (contract: Media). The
 * plan's storage is shared by both modes of a workspace, because the bytes of test files take room
 * like any others. And the sweep of all media files.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MediaId } from "../Ids.ts"
import { permit } from "../key/Caller.ts"
import type { Caller, Permitted } from "../key/Caller.ts"
import { makeCursors } from "../request/Page.ts"
import { makeIdempotent, answerKeptMillis } from "../request/Idempotency.ts"
import type { IdempotencyClaim, IdempotencyKey, Repeatable } from "../request/Idempotency.ts"
import type { CursorPage } from "../request/Page.ts"
import { pageFields, queryDecoder } from "../request/PageInput.ts"
import type { ListPage } from "../request/PageInput.ts"
import { WorkspaceStore } from "../workspace/WorkspaceStore.ts"
import { MediaStore, newMediaFile, removeBytes } from "./Media.ts"
import type { BrokenMediaGuard, Leftover, MediaFile } from "./Media.ts"
import { mediaTypes } from "./contentType.ts"
import type { MediaType } from "./contentType.ts"
import { MediaFiles, filesUnavailable, refuseUnkept } from "./MediaFiles.ts"
import type { SpooledContent, StoredContent } from "./MediaFiles.ts"
import { MediaLinks, linkKeptMillis } from "./MediaLinks.ts"

/** Bytes of an uploaded file (contract: Media). */
export const maximumFileBytes = 64 * 1024 * 1024

/** An uploaded file, read to its end. */
export interface Upload {
  /** As `uploadedFileName` makes it. */
  readonly fileName: string
  readonly content: SpooledContent
}

/** The file that a link leads to. */
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

/** Which files. */
export interface ListMedia extends ListPage {
  readonly type?: MediaType
}

const decodeList = queryDecoder(MediaQuery)

export class MediaDirectory extends Context.Service<
  MediaDirectory,
  {
    /**
     * POST /media: keeps an uploaded file. Fails with `storage_full` (`used` and `limit` in bytes), the
     * codes of idempotency, and `validation_failed` where there is no disk.
     */
    upload(
      caller: Caller,
      upload: Upload,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<Repeatable<MediaFile>, Failure>
    /** GET /media: newest first. */
    list(caller: Caller, query: ListMedia): Effect.Effect<CursorPage<MediaFile>, Failure>
    /** GET /media/{id}. Fails with `media_not_found`. */
    get(caller: Caller, id: MediaId | undefined): Effect.Effect<MediaFile, Failure>
    /**
     * DELETE /media/{id}. A waiting message with this file fails with `media_unavailable`. Fails
     * with `media_not_found`.
     */
    delete(caller: Caller, id: MediaId | undefined): Effect.Effect<MediaId, Failure>
    /**
     * The file behind a link, given by the two segments of its path. Fails with `not_found`: forged,
     * expired, or its file deleted.
     */
    open(token: string, segment: string): Effect.Effect<OpenedFile, Failure>
  }
>()("core/MediaDirectory") {
  static readonly layer = Layer.effect(
    MediaDirectory,
    Effect.gen(function* () {
      const store = yield* MediaStore
      const files = yield* MediaFiles
      const idempotent = yield* makeIdempotent
      const cursors = yield* makeCursors
      const { read } = yield* MediaLinks
      const workspaces = yield* WorkspaceStore

      const remove = removeBytes(store, files)
      const notFound = refuse("media_not_found", { inPath: true })

      const giveUp = (leftover: Leftover) =>
        Effect.andThen(store.discard(leftover.id), remove(leftover))

      const refuseBroken = (guard: BrokenMediaGuard) =>
        guard === "idempotency"
          ? refuse("idempotency_in_progress", { retryAfter: 1 })
          : new StoreUnavailable({ operation: "media.commit", cause: "the reservation lapsed" })

      const keepNew = Effect.fnUntraced(function* (
        caller: Permitted,
        { content, fileName }: Upload,
        claim: IdempotencyClaim | null,
      ) {
        const { storageKey } = content
        const file = newMediaFile(caller, content, fileName, yield* Clock.currentTimeMillis)
        const limit = caller.workspace.plan?.mediaStorageBytes ?? 0
        const reservation = yield* store.reserve(file, limit)
        if (reservation._tag === "Full") {
          return yield* refuse("storage_full", { details: { used: reservation.used, limit } })
        }
        const { id } = reservation
        yield* content.keep.pipe(
          Effect.mapError(filesUnavailable("media.keep")),
          Effect.tapError(() => Effect.ignore(giveUp({ id, storageKey }))),
        )
        // When it cannot be known whether this was done, the sweep goes by what the store says.
        const broken = yield* store.commit(id, claim, yield* Clock.currentTimeMillis)
        if (broken !== null) {
          yield* giveUp({ id, storageKey })
          return yield* refuseBroken(broken)
        }
        return { ...file, id }
      })

      const again = Effect.fnUntraced(function* ([id]: ReadonlyArray<number>) {
        const found = id === undefined ? null : yield* store.find(id as MediaId)
        return found === null ? yield* notFound : found.file
      })

      return MediaDirectory.of({
        upload: Effect.fn("MediaDirectory.upload")(function* (given, upload, requested) {
          const caller = yield* permit(given, "uploadMedia")
          const unkept = refuseUnkept(files, "file")
          if (unkept !== undefined) return yield* unkept
          return yield* idempotent.run<MediaFile, Failure>(caller, requested, {
            work: (claim) => keepNew(caller, upload, claim),
            again,
          })
          // All of it was read: a client that hangs up now leaves nothing half done.
        }, Effect.uninterruptible),
        list: Effect.fn("MediaDirectory.list")(function* (given, asked) {
          const { mode, workspaceId } = yield* permit(given, "listMedia")
          const query = yield* Effect.fromResult(decodeList(asked))
          const type = query.type ?? null
          const binding = ["media", workspaceId, mode, type]
          return yield* cursors.page(query, binding, (page) =>
            store.list(workspaceId, mode, type, page),
          )
        }),
        get: Effect.fn("MediaDirectory.get")(function* (given, id) {
          const { mode, workspaceId } = yield* permit(given, "getMedia")
          const file = id === undefined ? null : yield* store.get(workspaceId, mode, id)
          return file ?? (yield* notFound)
        }),
        delete: Effect.fn("MediaDirectory.delete")(function* (given, id) {
          const { mode, workspaceId } = yield* permit(given, "deleteMedia")
          const file = id === undefined ? null : yield* store.delete(workspaceId, mode, id)
          if (file === null) return yield* notFound
          yield* remove(file)
          return file.id
        }, Effect.uninterruptible),
        open: Effect.fn("MediaDirectory.open")(function* (token, segment) {
          const linked = read(token, segment, yield* Clock.currentTimeMillis)
          const found = linked === undefined ? null : yield* store.find(linked.id)
          if (linked === undefined || found === null || found.deleted) {
            return yield* refuse("not_found")
          }
          // The sweep takes away the bytes of a deleted workspace; its links end at once.
          if ((yield* workspaces.get(found.file.workspaceId)) === null) {
            return yield* refuse("not_found")
          }
          const content = yield* files.open(found.file.storageKey).pipe(
            Effect.mapError((error) =>
              // Deleted between the two looks.
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

/** From a file's reservation to its commit it takes no longer than this, or its process died. */
const reservationMillis = 60 * 60 * 1000

/**
 * An attachment is kept that long past the final state of its last message (contract: Version 1:
 * sends), so that the link in the event of that moment works for as long as it says. A call whose
 * message is not committed yet has that long too.
 */
const attachmentMillis = linkKeptMillis

/** Files of one round of the sweep. */
const batch = 100

/**
 * The sweep of media files: finishes what uploads and deletions that were cut off have left half done,
 * and removes the files of deleted workspaces and attachments that are no longer needed. Harms nothing
 * when several workers do it.
 */
export const makeMediaSweep = Effect.gen(function* () {
  const store = yield* MediaStore
  const files = yield* MediaFiles

  const remove = (leftover: Leftover) =>
    files.remove(leftover.storageKey).pipe(
      Effect.as<ReadonlyArray<Leftover>>([leftover]),
      Effect.catch((error) =>
        Effect.as(Effect.logWarning("a media file could not be removed", error), []),
      ),
    )

  /** Removes one batch of left-over files; returns how many. */
  const removeSome = Effect.gen(function* () {
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
    // A repeat of the upload shows the file's record for a day.
    yield* store.forget(now - answerKeptMillis)
    yield* files.removeAbandoned.pipe(
      Effect.catch((error) => Effect.logWarning("abandoned uploads could not be removed", error)),
    )
  })
})
