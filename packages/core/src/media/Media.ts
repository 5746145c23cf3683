/**
 * Images and files: how a request refers to one, the record of a file, and the port that keeps these
 * records.
 */
import { Context, Effect, Result, Schema } from "effect"
import { IdJson } from "../request/Answer.ts"
import type { OutboundRule } from "../egress/Egress.ts"
import { outboundUrlMessage, parseOutboundUrl } from "../egress/PublicAddress.ts"
import { problem } from "../error/Refusal.ts"
import type { Problem } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MediaId, WorkspaceId } from "../Ids.ts"
import type { Sender } from "../key/Caller.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import { described } from "../request/Described.ts"
import { nameUpTo } from "../request/Input.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"
import type { Mode } from "../workspace/Workspace.ts"
import { mediaTypeOf, mediaTypes, mimeTypeOf } from "./contentType.ts"
import type { MediaType } from "./contentType.ts"
import type { MediaFiles, SpooledContent } from "./MediaFiles.ts"

/** What a message carries; exactly one of `mediaId`, `attachmentId` and `url` is set. */
export interface MediaReference {
  readonly mediaId: MediaId | null
  /** A file that came with the send and belongs to it alone (contract: Version 1: sends). */
  readonly attachmentId: MediaId | null
  readonly url: string | null
  /** Null when neither the request nor the link's ending tells: settled at send time. */
  readonly type: MediaType | null
  readonly fileName: string | null
  /** Whether its stored file is gone: looked up for what is shown, never kept. */
  readonly isMissing?: boolean
}

/** `media` of a message or a reminder, as answers show it: each field null when it is unknown. */
export const MediaReferenceJson = Schema.Struct({
  media_id: Schema.NullOr(IdJson),
  url: described(
    Schema.NullOr(Schema.String),
    "Of a stored file: works for 26 hours; null once the file is gone.",
  ),
  type: Schema.NullOr(Schema.Literals(mediaTypes)),
  file_name: Schema.NullOr(Schema.String),
}).annotate({ identifier: "Media" })

/** Longer links are no use to any receiver and are refused as `invalid_media_url`. */
const maximumUrlLength = 2048

/** `media` in a request: exactly one of `url` and `media_id` (contract: Media reference). */
export const MediaInput = Schema.Struct({
  url: described(
    Schema.optionalKey(Schema.String),
    `Public http or https link of at most ${maximumUrlLength} characters; fetched when the message is sent.`,
  ),
  media_id: described(Schema.optionalKey(Schema.Int), "Id of a file in the media directory."),
  type: described(
    Schema.optionalKey(Schema.Literals(mediaTypes)),
    "Used when the link does not reveal the kind.",
  ),
  file_name: described(Schema.optionalKey(nameUpTo(255)), "For files."),
})
  .check(
    Schema.makeFilter(
      (media) =>
        (media.url === undefined) !== (media.media_id === undefined)
          ? undefined
          : "must have exactly one of url and media_id",
      { toJsonSchema: () => ({ oneOf: [{ required: ["url"] }, { required: ["media_id"] }] }) },
    ),
  )
  .annotate({
    identifier: "MediaReference",
    description: "An image or a file: exactly one of `url` and `media_id`.",
  })

/** The problem of a media link by its text alone, if any; what it resolves to is checked later. */
export const mediaUrlProblems = (media: unknown, rule: OutboundRule): ReadonlyArray<Problem> => {
  if (typeof media !== "object" || media === null || !Object.hasOwn(media, "url")) return []
  const url = (media as { readonly url: unknown }).url
  if (typeof url !== "string") return []
  if (url.length > maximumUrlLength) return [problem("invalid_media_url", "media.url")]
  const parsed = parseOutboundUrl(url, { allowHttp: true, allowPrivate: rule.allowPrivate })
  return Result.isSuccess(parsed)
    ? []
    : [problem("invalid_media_url", "media.url", outboundUrlMessage(url, parsed.failure))]
}

/** A file of the media directory. */
export interface MediaFile {
  readonly id: MediaId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly fileName: string
  readonly type: MediaType
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /** Where `MediaFiles` keeps the content. */
  readonly storageKey: string
  readonly createdAt: number
}

export type Reservation =
  | { readonly _tag: "Reserved"; readonly id: MediaId }
  /** There is no room for it beside the bytes that are used. */
  | { readonly _tag: "Full"; readonly used: number }

/** Which precondition of a file's commit no longer held; nothing was written. */
export type BrokenMediaGuard = "idempotency" | "reservation"

export interface AttachmentSweep {
  readonly now: number
  /** Attachments that have been unused since this moment or longer are deleted. */
  readonly unusedSince: number
}

/** A file whose bytes have no use any more and may still be there. */
export type Leftover = Pick<MediaFile, "id" | "storageKey">

export interface LeftoverQuery {
  /** A reservation that was made before this was given up, or its process died. */
  readonly reservedBefore: number
  readonly limit: number
}

/**
 * A file of the directory is there from its commit to its deletion. Before, its room is reserved while its
 * bytes are put in their place; afterwards it is remembered until they are gone. So bytes without a
 * record never stay unnoticed, and a file that is in the directory always has its bytes.
 *
 * An attachment belongs to one send: it is in no directory and takes none of its room, but has a
 * bound of its own. Its record comes before
 * its bytes and is known to its send alone.
 */
export class MediaStore extends Context.Service<
  MediaStore,
  {
    /**
     * Takes room for a file. Guard: what the workspace uses in both modes, reservations included,
     * and the file's size are together not more than `limitBytes`.
     */
    reserve(
      file: Omit<MediaFile, "id">,
      limitBytes: number,
    ): Effect.Effect<Reservation, StoreUnavailable>
    /**
     * Puts a reserved file into the directory and finishes the idempotency record. Guards, in this
     * order: the claim is still held (`idempotency`), the reservation is still there
     * (`reservation`). Null when both held, else the one that did not.
     */
    commit(
      id: MediaId,
      idempotency: IdempotencyClaim | null,
      now: number,
    ): Effect.Effect<BrokenMediaGuard | null, StoreUnavailable>
    /** Gives a reservation up: its room is free again, and what there is of its bytes is left over. */
    discard(id: MediaId): Effect.Effect<void, StoreUnavailable>
    /** Null when it is not in the directory, or is of another workspace or mode. */
    get(
      workspaceId: WorkspaceId,
      mode: Mode,
      id: MediaId,
    ): Effect.Effect<MediaFile | null, StoreUnavailable>
    /** Newest first. */
    list(
      workspaceId: WorkspaceId,
      mode: Mode,
      type: MediaType | null,
      page: PageQuery,
    ): Effect.Effect<PageOf<MediaFile>, StoreUnavailable>
    /**
     * Whatever its workspace and mode, attachments too. A deleted file is found as long as it is
     * remembered; one that was never committed is not.
     */
    find(
      id: MediaId,
    ): Effect.Effect<
      { readonly file: MediaFile; readonly deleted: boolean } | null,
      StoreUnavailable
    >
    /** Those of the files that are not there (any more): in no directory, and attached to no message. */
    missing(ids: ReadonlyArray<MediaId>): Effect.Effect<ReadonlySet<MediaId>, StoreUnavailable>
    /** Takes a file out of the directory: its room is free again, its bytes are left over. */
    delete(
      workspaceId: WorkspaceId,
      mode: Mode,
      id: MediaId,
    ): Effect.Effect<MediaFile | null, StoreUnavailable>
    /**
     * Records a file that belongs to a send. Guard: what the workspace's attachments take in both
     * modes, given up and deleted ones aside, and the file's size are together not more than
     * `limitBytes`.
     */
    attach(
      file: Omit<MediaFile, "id">,
      limitBytes: number,
    ): Effect.Effect<Reservation, StoreUnavailable>
    /**
     * Gives an attachment up that no message has, whatever its state. Returns whether it did: then
     * what there is of its bytes is left over.
     */
    detach(id: MediaId): Effect.Effect<boolean, StoreUnavailable>
    /**
     * Looks at all attachments. One that no waiting message has is unused, since `now` if it was not
     * before; those that have been for long enough are deleted, and so are those of deleted
     * workspaces. Their bytes are left over.
     */
    sweepAttachments(sweep: AttachmentSweep): Effect.Effect<void, StoreUnavailable>
    /**
     * Files whose bytes are left over, after it has given up old reservations and deleted the files
     * of deleted workspaces.
     */
    leftovers(query: LeftoverQuery): Effect.Effect<ReadonlyArray<Leftover>, StoreUnavailable>
    /** Their bytes are gone. */
    removed(ids: ReadonlyArray<MediaId>): Effect.Effect<void, StoreUnavailable>
    /** Drops what is remembered of files that were made before, are deleted and have no bytes. */
    forget(createdBefore: number): Effect.Effect<void, StoreUnavailable>
  }
>()("core/MediaStore") {}

/** The record of a file that is about to be kept: whose it is, and what its content and name tell. */
export const newMediaFile = (
  { mode, workspaceId }: Pick<Sender, "workspaceId" | "mode">,
  { mimeType: sniffed, size, storageKey }: Pick<SpooledContent, "mimeType" | "size" | "storageKey">,
  fileName: string,
  createdAt: number,
): Omit<MediaFile, "id"> => {
  const mimeType = mimeTypeOf(sniffed, fileName)
  const type = mediaTypeOf(mimeType)
  return { workspaceId, mode, fileName, type, mimeType, size, storageKey, createdAt }
}

/**
 * Removes the bytes of a file at once when its record ends; what cannot be removed now is found again
 * by the sweep.
 */
export const removeBytes =
  (store: typeof MediaStore.Service, files: typeof MediaFiles.Service) =>
  ({ id, storageKey }: Leftover): Effect.Effect<void> =>
    Effect.andThen(files.remove(storageKey), store.removed([id])).pipe(
      Effect.catch((error) => Effect.logWarning("a media file is removed later", error)),
    )
