/** The port that keeps the bytes of media files, by an opaque storage key. */
import { Context, Data } from "effect"
import type { Effect, Scope, Stream } from "effect"

export class MediaFilesError extends Data.TaggedError("MediaFilesError")<{
  readonly reason: "not_found" | "too_large" | "io"
  readonly cause?: unknown
}> {
  override get message() {
    return `media file: ${this.reason}`
  }
}

/** A file whose content can be read more than once. */
export interface StoredContent {
  /** Bytes. */
  readonly size: number
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256: string
  /** Found from the content's first bytes; `application/octet-stream` when nothing fits. */
  readonly mimeType: string
  readonly content: Stream.Stream<Uint8Array, MediaFilesError>
}

export class MediaFiles extends Context.Service<
  MediaFiles,
  {
    /** Opens a stored file; fails with `not_found`. */
    open(storageKey: string): Effect.Effect<StoredContent, MediaFilesError>
    /**
     * Spools a stream into a temporary file that goes with the scope, never holding it in memory
     * whole; fails with `too_large` past `maximumBytes`.
     */
    spool<E>(
      content: Stream.Stream<Uint8Array, E>,
      maximumBytes: number,
    ): Effect.Effect<StoredContent, MediaFilesError | E, Scope.Scope>
    /** Stores a stream under a new key, whole or not at all. */
    store<E>(
      content: Stream.Stream<Uint8Array, E>,
      maximumBytes: number,
    ): Effect.Effect<StoredContent & { readonly storageKey: string }, MediaFilesError | E>
    remove(storageKey: string): Effect.Effect<void, MediaFilesError>
  }
>()("core/MediaFiles") {}
