/**
 * The media directory: files that customers upload once and send by their id (contract: Media). The
 * plan's storage is shared by both worlds of a workspace, because the bytes of test files take room
 * like any others.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { TimeJson } from "../answer/Json.ts"
import type { DeletedJson } from "../answer/Json.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MediaId } from "../id/Ids.ts"
import { permit } from "../key/Caller.ts"
import type { Caller, Permitted } from "../key/Caller.ts"
import { Cursors } from "../request/Cursor.ts"
import { Idempotent } from "../request/Idempotent.ts"
import type { Repeatable } from "../request/Idempotent.ts"
import type { IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import { described } from "../request/Described.ts"
import type { JsonPage } from "../request/Page.ts"
import { limitOf, pageFields, queryDecoder } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { formatInstant } from "../time/Instant.ts"
import { WorkspaceStore } from "../workspace/WorkspaceStore.ts"
import { refuseFullDisk } from "./fullDisk.ts"
import { MediaStore, mediaTypes } from "./Media.ts"
import type { BrokenMediaGuard, Leftover, MediaFile } from "./Media.ts"
import { MediaFiles, filesUnavailable } from "./MediaFiles.ts"
import type { SpooledContent, StoredContent } from "./MediaFiles.ts"
import { MediaLinks } from "./MediaLinks.ts"
import type { MediaLink } from "./MediaLinks.ts"
import { newMediaFile } from "./newMediaFile.ts"
import { removeBytes } from "./removeBytes.ts"

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

/** A file of the media directory (contract: Media). */
export const MediaFileJson = Schema.Struct({
  id: described(Schema.Int.pipe(Schema.brand("MediaId")), "The `media_id` of a message."),
  file_name: Schema.String,
  type: Schema.Literals(mediaTypes),
  mime_type: described(
    Schema.String,
    "Found from the content; of text, whose content does not tell it, from the ending of the name.",
  ),
  size: described(Schema.Int, "Bytes."),
  url: described(Schema.String, "Works for 26 hours; a fresh one with each answer."),
  created_at: TimeJson,
}).annotate({ identifier: "MediaFile" })

export type MediaFileJson = typeof MediaFileJson.Type

export const mediaFileJson = (file: MediaFile, now: number, link: MediaLink): MediaFileJson => ({
  id: file.id,
  file_name: file.fileName,
  type: file.type,
  mime_type: file.mimeType,
  size: file.size,
  url: link(file.id, file.fileName, now),
  created_at: formatInstant(file.createdAt),
})

/** The query parameters of GET /media. */
export const MediaQuery = Schema.Struct({
  type: Schema.optionalKey(Schema.Literals(mediaTypes)),
  ...pageFields,
})

const decodeList = queryDecoder(MediaQuery)

type Failure = Refusal | StoreUnavailable

export class MediaDirectory extends Context.Service<
  MediaDirectory,
  {
    /**
     * POST /media: keeps an uploaded file. A repeat shows the first answer with a fresh link. Fails
     * with `storage_full` (`used` and `limit` in bytes) and the codes of idempotency.
     */
    upload(
      caller: Caller,
      upload: Upload,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<Repeatable<MediaFileJson>, Failure>
    /** The refusal of an upload for which the disk has no room. */
    fullDisk(caller: Permitted): Effect.Effect<Refusal, StoreUnavailable>
    /** GET /media: newest first. */
    list(caller: Caller, query: QueryEntries): Effect.Effect<JsonPage<MediaFileJson>, Failure>
    /** GET /media/{id}. Fails with `media_not_found`. */
    get(caller: Caller, id: MediaId | undefined): Effect.Effect<MediaFileJson, Failure>
    /**
     * DELETE /media/{id}. A waiting message with this file fails with `media_unavailable`. Fails
     * with `media_not_found`.
     */
    delete(caller: Caller, id: MediaId | undefined): Effect.Effect<DeletedJson, Failure>
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
      const idempotent = yield* Idempotent
      const cursors = yield* Cursors
      const { link, read } = yield* MediaLinks
      const workspaces = yield* WorkspaceStore

      const remove = removeBytes(store, files)

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
        return mediaFileJson({ ...file, id }, file.createdAt, link)
      })

      const again = Effect.fnUntraced(function* ([id]: ReadonlyArray<number>) {
        const found = id === undefined ? null : yield* store.find(id as MediaId)
        return found === null
          ? yield* refuse("media_not_found", { inPath: true })
          : mediaFileJson(found.file, yield* Clock.currentTimeMillis, link)
      })

      const notFound = refuse("media_not_found", { inPath: true })

      return MediaDirectory.of({
        upload: Effect.fn("MediaDirectory.upload")(function* (given, upload, requested) {
          const caller = yield* permit(given, "uploadMedia")
          return yield* idempotent.run<MediaFileJson, Failure>(caller, requested, {
            work: (claim) => keepNew(caller, upload, claim),
            again,
          })
          // All of it was read: a client that hangs up now leaves nothing half done.
        }, Effect.uninterruptible),
        fullDisk: (caller) => refuseFullDisk(store, caller),
        list: Effect.fn("MediaDirectory.list")(function* (given, entries) {
          const { mode, workspaceId } = yield* permit(given, "listMedia")
          const query = yield* Effect.fromResult(decodeList(entries))
          const type = query.type ?? null
          const binding = ["media", workspaceId, mode, type]
          const before = yield* cursors.read(query.cursor ?? null, binding)
          const page = yield* store.list(workspaceId, mode, type, {
            before,
            limit: limitOf(query),
          })
          const now = yield* Clock.currentTimeMillis
          return {
            data: page.items.map((file) => mediaFileJson(file, now, link)),
            next_cursor: cursors.make(page.next, binding),
          }
        }),
        get: Effect.fn("MediaDirectory.get")(function* (given, id) {
          const { mode, workspaceId } = yield* permit(given, "getMedia")
          const file = id === undefined ? null : yield* store.get(workspaceId, mode, id)
          if (file === null) return yield* notFound
          return mediaFileJson(file, yield* Clock.currentTimeMillis, link)
        }),
        delete: Effect.fn("MediaDirectory.delete")(function* (given, id) {
          const { mode, workspaceId } = yield* permit(given, "deleteMedia")
          const file = id === undefined ? null : yield* store.delete(workspaceId, mode, id)
          if (file === null) return yield* notFound
          yield* remove(file)
          return { id: file.id, deleted: true as const }
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
