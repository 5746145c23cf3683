/**
 * Files that come with a send and belong to it alone (decisions: Version 1): uploaded with it, or
 * downloaded during the call. They are not in the media directory and take none of its storage. A
 * call that is refused or cut off leaves nothing of them behind: they go with its scope, unless a
 * message has them by then.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MediaId } from "../id/Ids.ts"
import type { Caller } from "../key/Admission.ts"
import type { MediaType } from "./Media.ts"
import type { Upload } from "./MediaDirectory.ts"

/** A file that is kept for the messages of one send. */
export interface Attachment {
  readonly id: MediaId
  /** Found from the content, as is the MIME type. */
  readonly type: MediaType
  readonly mimeType: string
  readonly fileName: string
  /** Bytes. */
  readonly size: number
}

export class Attachments extends Context.Service<
  Attachments,
  {
    /** Keeps an uploaded file. The scope is that of the send. */
    fromUpload(
      caller: Caller,
      upload: Upload,
    ): Effect.Effect<Attachment, StoreUnavailable, Scope.Scope>
    /**
     * Downloads a link and keeps what it led to: at most 100 MiB, 30 s, 3 redirects. Without a name
     * the file is called as the link's path ends, else `file`. Fails with `invalid_media_url`, whether
     * the link may not be called or the file could not be had. The scope is that of the send.
     */
    fromLink(
      caller: Caller,
      url: string,
      fileName: string | null,
    ): Effect.Effect<Attachment, Refusal | StoreUnavailable, Scope.Scope>
  }
>()("core/Attachments") {}
