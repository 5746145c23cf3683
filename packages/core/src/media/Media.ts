/** Images and files: how a request refers to one, and the port that keeps their records. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { IdJson } from "../answer/Json.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MediaId, WorkspaceId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import { described } from "../request/Described.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"

export const mediaTypes = ["image", "file"] as const

export type MediaType = (typeof mediaTypes)[number]

/** What a message carries; exactly one of `mediaId`, `attachmentId` and `url` is set. */
export interface MediaReference {
  readonly mediaId: MediaId | null
  /** A file that came with the send and belongs to it alone (contract: Version 1: sends). */
  readonly attachmentId: MediaId | null
  readonly url: string | null
  /** Null when neither the request nor the link's ending tells: settled at send time. */
  readonly type: MediaType | null
  readonly fileName: string | null
}

/** `media` of a message or a reminder, as answers show it: each field null when it is unknown. */
export const MediaReferenceJson = Schema.Struct({
  media_id: Schema.NullOr(IdJson),
  url: described(Schema.NullOr(Schema.String), "Of a stored file: works for 26 hours."),
  type: Schema.NullOr(Schema.Literals(mediaTypes)),
  file_name: Schema.NullOr(Schema.String),
}).annotate({ identifier: "Media" })

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
