/**
 * Files that come with a send and belong to it alone (contract: Version 1: sends): uploaded with
 * it, or downloaded during the call. They are not in the media directory and take none of its
 * storage. A call that is refused or cut off leaves nothing of them behind: they go with its scope,
 * unless a message has them by then.
 */
import { Clock, Context, Effect, Exit, Layer } from "effect"
import type { Scope } from "effect"
import { Egress, OutboundRule } from "../egress/Egress.ts"
import { refuse, refuseAll } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MediaId } from "../Ids.ts"
import { permit } from "../key/Caller.ts"
import type { Caller, Permitted } from "../key/Caller.ts"
import { LinkDownloads } from "./LinkDownload.ts"
import type { LinkTerms, MediaLinkRequest } from "./LinkDownload.ts"
import { MediaStore, mediaUrlProblems, newMediaFile, removeBytes } from "./Media.ts"
import type { MediaFile } from "./Media.ts"
import type { Upload } from "./MediaDirectory.ts"
import { MediaFiles, filesUnavailable, noRoomForFile, refuseUnkept } from "./MediaFiles.ts"
import { sharedResources } from "../limit/sharedResources.ts"

/** How a link is downloaded during the call (contract: Version 1: sends). */
const linkTerms: LinkTerms = {
  maximumBytes: 100 * 1024 * 1024,
  inWords: "100 MiB",
  placeWaitMillis: 5000,
}

/** A file that is kept for the messages of one send. */
export type Attachment = Pick<MediaFile, "id" | "type" | "mimeType" | "fileName" | "size">

/**
 * Bytes that the attachments of one workspace may take together (`ATTACHMENT_BYTES`; contract:
 * Configuration).
 */
export const AttachmentBytes = Context.Reference<number>("core/AttachmentBytes", {
  defaultValue: () => sharedResources.attachmentBytes.share.most,
})

export class Attachments extends Context.Service<
  Attachments,
  {
    /**
     * Keeps an uploaded file. Fails with `storage_full` (`used` and `limit` in bytes, of attachments)
     * when the workspace has no room for it. The scope is that of the send.
     */
    fromUpload(caller: Caller, upload: Upload): Effect.Effect<Attachment, Failure, Scope.Scope>
    /**
     * Downloads a link and keeps what it led to: at most 100 MiB, 30 s, 3 redirects. Fails with
     * `invalid_media_url`: the link may not be called, the file could not be had, is empty, or is no
     * image where one is asked for; and with `service_unavailable` when too many links are being
     * fetched or the disk has no room; with `storage_full` as `fromUpload`. The scope is that of the send.
     */
    fromLink(
      caller: Caller,
      link: MediaLinkRequest,
    ): Effect.Effect<Attachment, Failure, Scope.Scope>
  }
>()("core/Attachments") {
  static readonly layer = Layer.effect(
    Attachments,
    Effect.gen(function* () {
      const store = yield* MediaStore
      const files = yield* MediaFiles
      const egress = yield* Egress
      const links = yield* LinkDownloads
      const rule = yield* OutboundRule
      const limit = yield* AttachmentBytes
      const remove = removeBytes(store, files)

      const giveUp = (id: MediaId, storageKey: string) =>
        Effect.flatMap(store.detach(id), (detached) =>
          detached ? remove({ id, storageKey }) : Effect.void,
        ).pipe(Effect.catch((error) => Effect.logWarning("an attachment is removed later", error)))

      const attach = (caller: Permitted, { content, fileName }: Upload) =>
        Effect.gen(function* () {
          const unkept = refuseUnkept(files, field)
          if (unkept !== undefined) return yield* unkept
          const { storageKey } = content
          const file = newMediaFile(caller, content, fileName, yield* Clock.currentTimeMillis)
          const attached = yield* store.attach(file, limit)
          if (attached._tag === "Full") {
            return yield* refuse("storage_full", {
              message: "The attachments of the workspace's messages take all the room they have.",
              details: { used: attached.used, limit },
            })
          }
          const { id } = attached
          yield* content.keep.pipe(
            Effect.mapError(filesUnavailable("attachment.keep")),
            Effect.tapError(() => giveUp(id, storageKey)),
          )
          return { ...file, id }
        }).pipe((keep) =>
          Effect.acquireRelease(keep, ({ id, storageKey }, exit) =>
            isKnown(exit) ? giveUp(id, storageKey) : Effect.void,
          ),
        )

      return Attachments.of({
        fromUpload: Effect.fn("Attachments.fromUpload")(function* (given, upload) {
          return yield* attach(yield* permit(given, "sendMessage"), upload)
        }),
        fromLink: Effect.fn("Attachments.fromLink")(function* (given, link) {
          const caller = yield* permit(given, "sendMessage")
          const { url } = link
          const [unreadable] = mediaUrlProblems({ url }, rule)
          if (unreadable !== undefined) return yield* refuseAll(unreadable, [])
          if (!(yield* egress.allows(url, caller.workspaceId)))
            return yield* refuse(code, { field })
          const { workspaceId } = caller
          const { content, fileName } = yield* links.fetch(workspaceId, link, linkTerms).pipe(
            Effect.catchTags({
              LinksBusy: () => Effect.fail(refuse("service_unavailable", { retryAfter: 5 })),
              MediaUnavailable: ({ message }) => Effect.fail(refuse(code, { field, message })),
              MediaFilesError: (error) =>
                error.reason === "full"
                  ? Effect.fail(noRoomForFile)
                  : Effect.fail(filesUnavailable("attachment.spool")(error)),
            }),
          )
          return yield* attach(caller, { content, fileName })
        }),
      })
    }),
  ).pipe(Layer.provide(LinkDownloads.layer))
}

const code = "invalid_media_url"
const field = "media.url"

/**
 * Whether it is known what became of the send. Where the store did not answer, a message may be
 * written yet that cannot be seen now, and the file is left to the sweep.
 */
const isKnown = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) ||
  !exit.cause.reasons.some(
    (reason) =>
      reason._tag === "Die" || (reason._tag === "Fail" && reason.error instanceof StoreUnavailable),
  )
