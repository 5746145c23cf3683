/** Files that are uploaded once and sent by their id. */
import type { Listing, Made, Mode, PageOptions, RepeatOptions } from "./common.ts"

/** A file to upload: at most 64 MiB. */
export interface UploadFile {
  /** 1 to 255 characters; of a path only the last part is kept. */
  readonly fileName: string
  /** The bytes, or a source of them, which is read once. */
  readonly content: Uint8Array | Blob | AsyncIterable<Uint8Array>
}

/** A stored file. */
export interface MediaFile {
  /** The `mediaId` of messages. */
  readonly id: number
  /** Whose it is. */
  readonly workspaceId: number
  /** Test files are seen by test callers alone. */
  readonly mode: Mode
  /** What recipients see. */
  readonly fileName: string
  /** How it is sent. */
  readonly type: "image" | "file"
  /** Told by the content; of text files by the ending of the name. */
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /** Link to it, which `handler` serves; it works for 26 hours from the answer on. */
  readonly url: string
  /** When it was uploaded. */
  readonly createdAt: Date
}

/** Which files. */
export interface ListMedia extends PageOptions {
  /** Only images, or only other files. */
  readonly type?: "image" | "file" | undefined
}

/** Files of one workspace, in one mode. */
export interface MediaApi {
  /**
   * Keeps a file. Fails with `validation_failed` (no name, no content, no disk), `request_too_large`,
   * `storage_full` (`details.used` and `details.limit` in bytes),
   * `service_unavailable` while the disk has no room, and as `idempotencyKey` says.
   */
  readonly upload: (file: UploadFile, options?: RepeatOptions) => Promise<Made<MediaFile>>
  /** The file, with a fresh link. Fails with `media_not_found`. */
  readonly get: (id: number) => Promise<MediaFile>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: ListMedia) => Listing<MediaFile>
  /** The whole content. Fails with `media_not_found`. */
  readonly content: (id: number) => Promise<Uint8Array>
  /** Deletes it; messages that wait with this file will fail with `media_unavailable`. Fails with `media_not_found`. */
  readonly remove: (id: number) => Promise<void>
}
