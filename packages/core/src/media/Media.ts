/** Images and files: how a request refers to one, and the port that keeps their records. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MediaId, WorkspaceId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"

export type MediaType = "image" | "file"

/** What a message carries; exactly one of `mediaId` and `url` is set. */
export interface MediaReference {
  readonly mediaId: MediaId | null
  readonly url: string | null
  /** Null when neither the request nor the link's ending tells: settled at send time. */
  readonly type: MediaType | null
  readonly fileName: string | null
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

export class MediaStore extends Context.Service<
  MediaStore,
  {
    insert(file: Omit<MediaFile, "id">): Effect.Effect<MediaFile, StoreUnavailable>
    /** Null when unknown, deleted, or of another workspace or mode. */
    get(
      workspaceId: WorkspaceId,
      mode: Mode,
      id: MediaId,
    ): Effect.Effect<MediaFile | null, StoreUnavailable>
  }
>()("core/MediaStore") {}
