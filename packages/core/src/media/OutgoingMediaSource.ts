/**
 * Media at the moment of sending: a stored file is opened, a link is fetched through the guarded
 * egress into a spooled file (contract: Media links). What cannot be had fails the message. A disk
 * error, also in the middle of reading, postpones the message, and so does a disk without room.
 */
import { Context, Data, Effect, Layer, Stream } from "effect"
import type { Scope } from "effect"
import type { MediaId, WorkspaceId } from "../Ids.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { Message } from "../message/Message.ts"
import type { OutgoingMedia } from "../transport/Transport.ts"
import { mediaTypeOf, whyUnsendable } from "./contentType.ts"
import { LinkDownloads, LinksBusy, unavailable } from "./LinkDownload.ts"
import type { LinkTerms, MediaUnavailable } from "./LinkDownload.ts"
import { MediaFiles, filesUnavailable } from "./MediaFiles.ts"
import type { MediaFilesError, StoredContent } from "./MediaFiles.ts"
import { MediaStore } from "./Media.ts"
import type { MediaFile, MediaReference } from "./Media.ts"

/** How a link is fetched when its message is sent (contract: Media links). */
const linkTerms: LinkTerms = {
  maximumBytes: 100_000_000,
  inWords: "100 MB",
  placeWaitMillis: 30_000,
}

const logWaiting = (error: MediaFilesError) =>
  Effect.logWarning("a message waits for its media file", error)

const isGone = ({ reason }: MediaFilesError): boolean => reason === "not_found"

/** The disk has no room for the file behind a link. */
export class NoRoom extends Data.TaggedError("NoRoom") {
  override get message() {
    return "the disk has no room for the file"
  }
}

export class OutgoingMediaSource extends Context.Service<
  OutgoingMediaSource,
  {
    open(
      message: Pick<Message, "workspaceId" | "mode">,
      reference: MediaReference,
    ): Effect.Effect<
      OutgoingMedia,
      MediaUnavailable | LinksBusy | NoRoom | StoreUnavailable,
      Scope.Scope
    >
  }
>()("core/OutgoingMediaSource") {
  static readonly layer = Layer.effect(
    OutgoingMediaSource,
    Effect.gen(function* () {
      const store = yield* MediaStore
      const files = yield* MediaFiles
      const links = yield* LinkDownloads

      const outgoing = (
        reference: MediaReference,
        stored: StoredContent,
        { fileName, mimeType }: Pick<MediaFile, "fileName" | "mimeType">,
      ): OutgoingMedia => ({
        type: reference.type ?? mediaTypeOf(mimeType),
        fileName: reference.fileName ?? fileName,
        mimeType,
        size: stored.size,
        sha256: stored.sha256,
        content: Stream.tapError(stored.content, logWaiting),
      })

      const download = (workspaceId: WorkspaceId, reference: MediaReference, url: string) =>
        links.fetch(workspaceId, { ...reference, url }, linkTerms).pipe(
          Effect.map((file) => outgoing(reference, file.content, file)),
          // The link is not to blame for a disk that cannot keep its file.
          Effect.catchTag("MediaFilesError", ({ reason }) =>
            Effect.fail(reason === "full" ? new NoRoom() : new LinksBusy()),
          ),
        )

      const openFile = (reference: MediaReference, file: MediaFile | null) =>
        Effect.gen(function* () {
          if (file === null) return yield* unavailable("The media file was deleted.")
          const reason = whyUnsendable(reference.type, file)
          if (reason !== undefined) return yield* unavailable(reason)
          const stored = yield* files.open(file.storageKey).pipe(
            Effect.tapError((error) => (isGone(error) ? Effect.void : logWaiting(error))),
            Effect.mapError((error) =>
              isGone(error)
                ? unavailable("The media file could not be read.")
                : filesUnavailable("media.send")(error),
            ),
          )
          return outgoing(reference, stored, file)
        })

      const attached = (id: MediaId) =>
        Effect.map(store.find(id), (found) => (found?.deleted === false ? found.file : null))

      return OutgoingMediaSource.of({
        open: Effect.fn("OutgoingMediaSource.open")(function* (message, reference) {
          const { attachmentId, mediaId } = reference
          if (mediaId !== null) {
            const file = yield* store.get(message.workspaceId, message.mode, mediaId)
            return yield* openFile(reference, file)
          }
          if (attachmentId !== null) {
            return yield* openFile(reference, yield* attached(attachmentId))
          }
          return yield* download(message.workspaceId, reference, reference.url ?? "")
        }),
      })
    }),
  ).pipe(Layer.provide(LinkDownloads.layer))
}
