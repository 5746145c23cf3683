/**
 * Media at the moment of sending: a file of the directory is opened, a link is fetched through the
 * guarded egress into a spooled file (decisions: Media). What cannot be had fails the message.
 */
import { Context, Data, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { Egress } from "../egress/Egress.ts"
import type { EgressAnswer } from "../egress/Egress.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { Message } from "../message/Message.ts"
import type { OutgoingMedia } from "../transport/Transport.ts"
import { sleep } from "../time/RealTime.ts"
import { MediaFiles } from "./MediaFiles.ts"
import type { StoredContent } from "./MediaFiles.ts"
import { MediaStore } from "./Media.ts"
import type { MediaReference } from "./Media.ts"
import { mediaTypeOf } from "./mediaType.ts"

/** At most 100 MB, 30 s, 3 redirects (decisions: Media). */
const linkLimits = { maximumBytes: 100_000_000, timeoutMillis: 30_000, redirects: 3 }

/** Tries of a link within one attempt, when the far side fails or the connection breaks. */
const linkTries = 3

export class MediaUnavailable extends Data.TaggedError("MediaUnavailable")<{
  readonly message: string
}> {}

const unavailable = (message: string) => new MediaUnavailable({ message })

const noAnswer = unavailable("The media link did not answer with the file.")

/** The last segment of a link's path, as a file name; empty when it has none. */
export const fileNameOfLink = (url: string): string => {
  const path = URL.canParse(url) ? new URL(url).pathname : ""
  const last = path.slice(path.lastIndexOf("/") + 1)
  return /^[\w.()+ -]{1,255}$/.test(last) ? last : ""
}

export class OutgoingMediaSource extends Context.Service<
  OutgoingMediaSource,
  {
    open(
      message: Pick<Message, "workspaceId" | "mode">,
      reference: MediaReference,
    ): Effect.Effect<OutgoingMedia, MediaUnavailable | StoreUnavailable, Scope.Scope>
  }
>()("core/OutgoingMediaSource") {
  static readonly layer = Layer.effect(
    OutgoingMediaSource,
    Effect.gen(function* () {
      const store = yield* MediaStore
      const files = yield* MediaFiles
      const egress = yield* Egress

      const outgoing = (
        reference: MediaReference,
        stored: StoredContent,
        fileName: string,
      ): OutgoingMedia => ({
        type: reference.type ?? mediaTypeOf(stored.mimeType),
        fileName: reference.fileName ?? (fileName === "" ? "file" : fileName),
        mimeType: stored.mimeType,
        size: stored.size,
        sha256: stored.sha256,
        content: stored.content,
      })

      const answered = (
        answer: EgressAnswer,
      ): Effect.Effect<EgressAnswer, MediaUnavailable | "again"> => {
        if (answer.status >= 200 && answer.status < 300) return Effect.succeed(answer)
        return answer.status >= 500
          ? Effect.fail("again")
          : Effect.fail(unavailable(`The media link answered with HTTP ${answer.status}.`))
      }

      const download = (url: string) =>
        egress.fetch(url, linkLimits).pipe(
          Effect.flatMap(answered),
          Effect.flatMap((answer) => files.spool(answer.body, linkLimits.maximumBytes)),
          Effect.catchTags({
            EgressError: ({ reason }) =>
              reason === "connection" || reason === "timeout"
                ? Effect.fail("again" as const)
                : Effect.fail(unavailable(`The media link could not be fetched: ${reason}.`)),
            MediaFilesError: ({ reason }) =>
              Effect.fail(
                unavailable(
                  reason === "too_large"
                    ? "The media file is larger than 100 MB."
                    : "The media file could not be kept for sending.",
                ),
              ),
          }),
          Effect.retry({ times: linkTries - 1, while: (error) => error === "again" }),
          Effect.mapError((error) => (error === "again" ? noAnswer : error)),
          // All tries together: whoever waits behind this message waits no longer.
          (tries) =>
            Effect.raceFirst(
              tries,
              Effect.andThen(sleep(linkLimits.timeoutMillis), Effect.fail(noAnswer)),
            ),
        )

      const fromDirectory = (
        message: Pick<Message, "workspaceId" | "mode">,
        reference: MediaReference,
        mediaId: NonNullable<MediaReference["mediaId"]>,
      ) =>
        Effect.gen(function* () {
          const file = yield* store.get(message.workspaceId, message.mode, mediaId)
          if (file === null) return yield* unavailable("The media file was deleted.")
          const stored = yield* files
            .open(file.storageKey)
            .pipe(Effect.mapError(() => unavailable("The media file could not be read.")))
          return outgoing(reference, stored, file.fileName)
        })

      return OutgoingMediaSource.of({
        open: Effect.fn("OutgoingMediaSource.open")(function* (message, reference) {
          if (reference.mediaId !== null) {
            return yield* fromDirectory(message, reference, reference.mediaId)
          }
          const url = reference.url ?? ""
          return outgoing(reference, yield* download(url), fileNameOfLink(url))
        }),
      })
    }),
  )
}
