/**
 * A customer's link fetched through the guarded egress into a spooled file: at the moment of sending,
 * and during the call of a version 1 send. How much it may be and how long it may wait for a place
 * differ, everything else is the same. A file has its place as long as it is there, so that the disk
 * never holds more of them than there are places.
 */
import { Context, Data, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { Egress } from "../egress/Egress.ts"
import type { EgressAnswer } from "../egress/Egress.ts"
import type { WorkspaceId } from "../Ids.ts"
import { makePlaces } from "../limit/Places.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { sleep } from "../time/RealTime.ts"
import { mimeTypeOf, whyUnsendable, withFittingEnding } from "./contentType.ts"
import type { MediaType } from "./contentType.ts"
import { fetchedFileName, shortenedFileName } from "./fileName.ts"
import { MediaFiles, MediaFilesError } from "./MediaFiles.ts"
import type { SpooledContent } from "./MediaFiles.ts"

/** All tries together, in real time (contract: Media links, Version 1: sends). */
const timeoutMillis = 30_000

const redirects = 3

/** Tries when the far side fails or the connection breaks. */
const tries = 3

/** How large a file may be, how to say it, and how long it may wait for its place in real time. */
export interface LinkTerms {
  readonly maximumBytes: number
  readonly inWords: string
  readonly placeWaitMillis: number
}

/** There is no file, or none that may be sent; the message says why. */
export class MediaUnavailable extends Data.TaggedError("MediaUnavailable")<{
  readonly message: string
}> {}

/** As many links as may be are being fetched, for this workspace or for all. */
export class LinksBusy extends Data.TaggedError("LinksBusy") {
  override get message() {
    return "too many links are being fetched"
  }
}

export const unavailable = (message: string) => new MediaUnavailable({ message })

const noAnswer = unavailable("The media link did not answer with the file.")

/** A link, and what the send says of what it leads to. */
export interface MediaLinkRequest {
  readonly url: string
  readonly type: MediaType | null
  readonly fileName: string | null
}

export interface DownloadedFile {
  readonly content: SpooledContent
  /** The given one, else one with an ending that fits the type. */
  readonly fileName: string
  readonly mimeType: string
}

/** The name of a file for which there is no other. */
const unnamed = "file"

const answered = (
  answer: EgressAnswer,
): Effect.Effect<EgressAnswer, MediaUnavailable | "again"> => {
  if (answer.status >= 200 && answer.status < 300) return Effect.succeed(answer)
  return answer.status >= 500
    ? Effect.fail("again")
    : Effect.fail(unavailable(`The media link answered with HTTP ${answer.status}.`))
}

export class LinkDownloads extends Context.Service<
  LinkDownloads,
  {
    /**
     * Downloads what a link leads to; it goes with the scope, and so does its place. Fails with
     * `LinksBusy` when there was no place for it in time, and with `MediaFilesError` only when the
     * file could not be kept, which is not the link's fault: with `full` before anything is fetched
     * while the disk has no room. An empty file cannot be sent, nor one
     * that is not an image where one is asked for.
     */
    fetch(
      workspaceId: WorkspaceId,
      link: MediaLinkRequest,
      terms: LinkTerms,
    ): Effect.Effect<DownloadedFile, MediaUnavailable | LinksBusy | MediaFilesError, Scope.Scope>
  }
>()("core/LinkDownloads") {
  static readonly layer = Layer.effect(
    LinkDownloads,
    Effect.gen(function* () {
      const egress = yield* Egress
      const files = yield* MediaFiles
      const places = makePlaces<WorkspaceId>(sharedResources.linkedFiles)
      return LinkDownloads.of({
        fetch: (workspaceId, link, terms) =>
          files.room.pipe(
            Effect.andThen(
              Effect.raceFirst(
                places.take(workspaceId),
                Effect.andThen(sleep(terms.placeWaitMillis), Effect.fail(new LinksBusy())),
              ),
            ),
            Effect.andThen(download(egress, files, workspaceId, link, terms)),
          ),
      })
    }),
  )
}

const download = (
  egress: typeof Egress.Service,
  files: typeof MediaFiles.Service,
  workspaceId: WorkspaceId,
  link: MediaLinkRequest,
  { inWords, maximumBytes }: LinkTerms,
): Effect.Effect<DownloadedFile, MediaUnavailable | MediaFilesError, Scope.Scope> =>
  egress.fetch(link.url, { maximumBytes, timeoutMillis, redirects }, workspaceId).pipe(
    Effect.flatMap(answered),
    Effect.flatMap((answer) =>
      Effect.map(files.spool(answer.body, maximumBytes), (content) =>
        downloaded(link, answer, content),
      ),
    ),
    Effect.catchTags({
      EgressError: ({ reason }) =>
        reason === "connection" || reason === "timeout"
          ? Effect.fail("again" as const)
          : Effect.fail(unavailable(`The media link could not be fetched: ${reason}.`)),
      MediaFilesError: (error) =>
        Effect.fail(
          error.reason === "too_large"
            ? unavailable(`The media file is larger than ${inWords}.`)
            : error,
        ),
    }),
    Effect.retry({ times: tries - 1, while: (error) => error === "again" }),
    Effect.mapError((error) => (error === "again" ? noAnswer : error)),
    // All tries together: after this time the message or the call goes on without the file.
    (fetched) =>
      Effect.raceFirst(fetched, Effect.andThen(sleep(timeoutMillis), Effect.fail(noAnswer))),
    Effect.tap(({ content: { size }, mimeType }) => {
      const reason = whyUnsendable(link.type, { mimeType, size })
      return reason === undefined ? Effect.void : Effect.fail(unavailable(reason))
    }),
  )

const downloaded = (
  link: MediaLinkRequest,
  answer: EgressAnswer,
  content: SpooledContent,
): DownloadedFile => {
  const name = link.fileName ?? fetchedFileName(answer, link.url)
  const mimeType = mimeTypeOf(content.mimeType, name)
  const fitting = withFittingEnding(name === "" ? unnamed : name, mimeType)
  return { content, fileName: link.fileName ?? shortenedFileName(fitting), mimeType }
}
