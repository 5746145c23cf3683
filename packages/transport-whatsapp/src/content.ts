/**
 * A message as it goes over the wire. Texts are not touched: no preview of a link is made, which would
 * also call the link. Media are encrypted from the stream into a file and uploaded from there, so that
 * no file is ever whole in memory; pictures go without a thumbnail of ours.
 */
import { sleepInRealTime } from "@messaging-service/core"
import type { OutgoingMedia } from "@messaging-service/core"
import { generateWAMessageContent, proto } from "baileys"
import type { WAMediaUploadFunction, WASocket } from "baileys"
import { Data, Effect, Stream } from "effect"
import { once } from "node:events"
import { access, constants } from "node:fs/promises"
import { tmpdir } from "node:os"
import { Readable } from "node:stream"
import { silentLogger } from "./Connection.ts"

/** The file could not be read, or not be sealed on this machine's disk: nothing of it has left. */
export class Unreadable extends Data.TaggedError("Unreadable") {
  override get message() {
    return "the media file could not be read"
  }
}

/** The far side did not take the file. */
export class NotUploaded extends Data.TaggedError("NotUploaded")<{ readonly cause: unknown }> {
  override get message() {
    return "the media file could not be uploaded"
  }
}

/** Each upload, and the pauses between them. */
const uploadMillis = 30_000
const uploadPauses = [500, 3000]

/** The library tries each host once. */
const persistent =
  (
    upload: WAMediaUploadFunction,
    run: (effect: Effect.Effect<void>) => Promise<void>,
  ): WAMediaUploadFunction =>
  async (...given) => {
    for (const pause of uploadPauses) {
      try {
        return await upload(...given)
      } catch {
        await run(sleepInRealTime(pause))
      }
    }
    return upload(...given)
  }

const captionOf = (text: string) => (text === "" ? {} : { caption: text })

const mediaContent = (
  { fileName, mimeType, type }: OutgoingMedia,
  text: string,
  stream: Readable,
) =>
  type === "image"
    ? { image: { stream }, mimetype: mimeType, jpegThumbnail: "", ...captionOf(text) }
    : { document: { stream }, mimetype: mimeType, fileName, ...captionOf(text) }

/** What the system says of a file or a socket. */
const isOfSystem = (cause: unknown): boolean => cause instanceof Error && "errno" in cause

/** Uploads the file. */
export const makeMedia: (
  socket: WASocket,
  media: OutgoingMedia,
  text: string,
) => Effect.Effect<proto.IMessage, Unreadable | NotUploaded> = Effect.fnUntraced(
  function* (socket, media, text) {
    let isUnreadable = false
    let isUploading = false
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    const upload = persistent(socket.waUploadToServer, run)
    const bytes = media.content.pipe(
      Stream.tapError(() =>
        Effect.sync(() => {
          isUnreadable = true
        }),
      ),
    )
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => Readable.from(Stream.toAsyncIterable(bytes))),
      (stream) =>
        Effect.tryPromise({
          try: async () => {
            // The library hears of its own file's errors while it writes: where the first bytes came
            // later than the disk's answer, that ended the process.
            await access(tmpdir(), constants.W_OK)
            stream.on("error", () => undefined)
            await once(stream, "readable")
            return generateWAMessageContent(mediaContent(media, text, stream), {
              logger: silentLogger,
              upload: (...given) => {
                isUploading = true
                return upload(...given)
              },
              mediaUploadTimeoutMs: uploadMillis,
            })
          },
          catch: (cause) =>
            isUnreadable || (!isUploading && isOfSystem(cause))
              ? new Unreadable()
              : new NotUploaded({ cause }),
        }).pipe(
          Effect.tapErrorTag("Unreadable", () =>
            isUnreadable
              ? Effect.void
              : Effect.logWarning(`a message waits to be sealed: ${tmpdir()} cannot be written to`),
          ),
        ),
      (stream) => Effect.sync(() => stream.destroy()),
    )
  },
)

/** A text is made alike each time, so what was sent is known by the text alone. */
export const textContent = (text: string): proto.IMessage => ({ extendedTextMessage: { text } })

/** As it is kept for a recipient who asks for it again, and for a repeat. */
export const textOfMessage = (message: proto.IMessage): string =>
  Buffer.from(proto.Message.encode(message).finish()).toString("base64")

export const messageFromText = (text: string | undefined): proto.IMessage | undefined =>
  text === undefined ? undefined : proto.Message.decode(Buffer.from(text, "base64"))
