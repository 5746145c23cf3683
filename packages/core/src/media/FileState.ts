/**
 * What becomes of a media file: the states of its record, the room that it takes of its workspace's, and
 * when the sweep ends it.
 */
import type { MediaId } from "../Ids.ts"
import type { MediaFile, MediaReference } from "./Media.ts"

/**
 * A file of the directory is `reserved` until its bytes are in their place, then `kept`; one that belongs
 * to a message is `attached`. Both are `deleted` in the end, or `discarded` when they were given up
 * before they were in the directory, or before a message had them.
 */
export const fileStates = ["reserved", "kept", "attached", "deleted", "discarded"] as const

export type FileState = (typeof fileStates)[number]

/** Whether its time is over: there may be bytes of it, which are left over. */
export const isFileEnded = (state: FileState): boolean =>
  state === "deleted" || state === "discarded"

/** In which room a file in that state counts; each room has its own bound. Null: in neither. */
export const roomOf = (state: FileState): "directory" | "attachments" | null => {
  if (isFileEnded(state)) return null
  return state === "attached" ? "attachments" : "directory"
}

/** Whether a file has room beside the bytes that are used. */
export const fitsRoom = (used: number, size: number, limitBytes: number): boolean =>
  used + size <= limitBytes

/** The id of the stored file that a message refers to; null where it refers to none. */
export const storedFileOf = (media: MediaReference | null): MediaId | null =>
  media === null ? null : (media.mediaId ?? media.attachmentId)

/** Whether the files in that state can be read by those who refer to them. */
export const isFileThere = (state: FileState): boolean => state === "kept" || state === "attached"

/** What an attachment's sweep goes by. */
export interface AttachmentStanding {
  /** Since when no message waits for it, as far as sweeps have seen. */
  readonly unusedSince: number | null
  /** Whether a message waits for it. */
  readonly isUsed: boolean
  /** Whether its workspace was deleted. */
  readonly isOfDeleted: boolean
}

/** Since when an attachment is unused, after a sweep at `now`. */
export const unusedSinceAfter = (
  { isUsed, unusedSince }: Pick<AttachmentStanding, "unusedSince" | "isUsed">,
  now: number,
): number | null => (isUsed ? null : (unusedSince ?? now))

/** Whether a sweep deletes an attachment: it has been unused since `unusedBy` or longer. */
export const isUnneeded = (
  { isOfDeleted, isUsed, unusedSince }: AttachmentStanding,
  unusedBy: number,
): boolean => isOfDeleted || (!isUsed && unusedSince !== null && unusedSince <= unusedBy)

/**
 * How the sweep ends a file of the directory, if it does: reservations that were made before
 * `reservedBefore` are given up, and the files of deleted workspaces go with them.
 */
export const sweptTo = (
  {
    createdAt,
    isOfDeleted,
    state,
  }: Pick<MediaFile, "createdAt"> & {
    readonly state: FileState
    readonly isOfDeleted: boolean
  },
  reservedBefore: number,
): Extract<FileState, "deleted" | "discarded"> | null => {
  if (state === "reserved" && createdAt < reservedBefore) return "discarded"
  return state === "kept" && isOfDeleted ? "deleted" : null
}
