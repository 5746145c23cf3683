/** The port that keeps the bytes of media files, by an opaque storage key. */
import { Context, Data } from "effect"
import type { Effect, Scope, Stream } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import { StoreUnavailable } from "../error/StoreUnavailable.ts"

export class MediaFilesError
  extends /*#__PURE__*/ Data.TaggedError("MediaFilesError")<{
    /** `full`: the disk has no room for it. */
    readonly reason: "not_found" | "too_large" | "full" | "io"
    readonly cause?: unknown
  }>
{
  override get message() {
    return `media file: ${this.reason}`
  }
}

/** The disk is a store too: its failures are faults of the service, not of the request. */
export const filesUnavailable =
  (operation: string) =>
  (cause: MediaFilesError): StoreUnavailable =>
    new StoreUnavailable({ operation, cause })

/** The type of a content that could not be told. */
export const unknownMimeType = "application/octet-stream"

/** A file whose content can be read more than once. */
export interface StoredContent {
  /** Bytes. */
  readonly size: number
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256: string
  /** Found from the content's first bytes; `unknownMimeType` when they tell nothing. */
  readonly mimeType: string
  readonly content: Stream.Stream<Uint8Array, MediaFilesError>
  /** The bytes from the one at `start` up to, not including, the one at `end`. */
  part(start: number, end: number): Stream.Stream<Uint8Array, MediaFilesError>
}

/** Content that is removed when its scope closes, unless it is kept. */
export interface SpooledContent extends StoredContent {
  /** The key under which it can be kept. */
  readonly storageKey: string
  /**
   * Stores it under its key, whole or not at all. Once, while its scope is open; from then on it is
   * read by opening it.
   */
  readonly keep: Effect.Effect<void, MediaFilesError>
}

export class MediaFiles
  extends /*#__PURE__*/ Context.Service<
    MediaFiles,
    {
      /** Whether contents can be kept: not in a process without a disk, which lets links pass alone. */
      readonly keeps: boolean
      /** Opens a stored file; fails with `not_found` only where it is known that there is none. */
      open(storageKey: string): Effect.Effect<StoredContent, MediaFilesError>
      /**
       * Spools a stream into a temporary file that goes with the scope, never holding it in memory
       * whole; fails with `too_large` past `maximumBytes`, and with `full`.
       */
      spool<E>(
        content: Stream.Stream<Uint8Array, E>,
        maximumBytes: number,
      ): Effect.Effect<SpooledContent, MediaFilesError | E, Scope.Scope>
      /** Fails with `full` while the disk has less free than its reserve, so that nothing is spooled. */
      readonly room: Effect.Effect<void, MediaFilesError>
      /** Succeeds too when there is nothing under that key. */
      remove(storageKey: string): Effect.Effect<void, MediaFilesError>
      /** Fails when nothing more can be written, whatever it is. */
      readonly ready: Effect.Effect<void, MediaFilesError>
      /** Removes what killed processes have spooled and left behind. */
      readonly removeAbandoned: Effect.Effect<void, MediaFilesError>
    }
  >()("core/MediaFiles") {}

/** The refusal of a file for which the disk has no room, whatever the plan's storage has left. */
export const noRoomForFile = /*#__PURE__*/ refuse("service_unavailable", {
  message:
    "The service has no room for files at present. Retry after the seconds of `Retry-After`.",
  retryAfter: 60,
})

/** The refusal of a file, on `field`, by a process that cannot keep it; undefined where it can. */
export const refuseUnkept = (
  { keeps }: Pick<typeof MediaFiles.Service, "keeps">,
  field: string,
): Refusal | undefined =>
  keeps
    ? undefined
    : refuse("validation_failed", {
        field,
        message:
          "A file needs a disk (dataDirectory), which this process does not have: use one that has it, or send a link by version 2.",
      })
