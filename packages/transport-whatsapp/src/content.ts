/**
 * Builds a message's content. Texts stay as they are, without link previews, which would call the link.
 * Media are encrypted as a stream into a file and uploaded from there: no file is whole in memory.
 */
import { guardLibrary, sleepInRealTime } from "@messaging-service/core"
import type { OutgoingMedia, Quote } from "@messaging-service/core"
import { generateWAMessageContent, proto, S_WHATSAPP_NET } from "baileys"
import type { WAMediaUploadFunction, WASocket } from "baileys"
import { Data, Effect, Stream } from "effect"
import { once } from "node:events"
import { access, constants } from "node:fs/promises"
import { tmpdir } from "node:os"
import { Readable } from "node:stream"
import { isLibrarys, silentLogger } from "./Connection.ts"
import type { Own } from "./incoming.ts"
import { withoutDevice } from "./recipients.ts"

/** Reading or encrypting the file on this machine failed; nothing has left. */
export class Unreadable extends Data.TaggedError("Unreadable") {
  override get message() {
    return "the media file could not be read"
  }
}

export class NotUploaded extends Data.TaggedError("NotUploaded")<{ readonly cause: unknown }> {
  override get message() {
    return "the media file could not be uploaded"
  }
}

const uploadMillis = 30_000
const uploadPauses = [500, 3000]

/** Retries an upload; the library tries each host once. */
const persistent =
  (
    upload: WAMediaUploadFunction,
    run: (effect: Effect.Effect<void>) => Promise<void>,
  ): WAMediaUploadFunction =>
  async (...args) => {
    for (const pause of uploadPauses) {
      try {
        return await upload(...args)
      } catch {
        await run(sleepInRealTime(pause))
      }
    }
    return upload(...args)
  }

const toCaption = (text: string) => (text === "" ? {} : { caption: text })

const mediaContent = (
  { fileName, mimeType, type }: OutgoingMedia,
  text: string,
  stream: Readable,
) =>
  type === "image"
    ? { image: { stream }, mimetype: mimeType, jpegThumbnail: "", ...toCaption(text) }
    : { document: { stream }, mimetype: mimeType, fileName, ...toCaption(text) }

const isOfSystem = (cause: unknown): boolean => cause instanceof Error && "errno" in cause

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
    // The file that the library writes may fail while it waits for bytes, as on a full disk.
    const broken = Promise.withResolvers<never>()
    const isItsOwn = (error: Error) => isOfSystem(error) || isLibrarys(error)
    const guarded = yield* guardLibrary("whatsapp", isItsOwn, broken.reject)
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => Readable.from(Stream.toAsyncIterable(bytes))),
      (stream) =>
        Effect.tryPromise({
          try: async () => {
            // The library handles its file's errors only while it writes.
            await access(tmpdir(), constants.W_OK)
            stream.on("error", () => undefined)
            await once(stream, "readable")
            const encrypted = guarded(() =>
              generateWAMessageContent(mediaContent(media, text, stream), {
                logger: silentLogger,
                upload: (...args) => {
                  isUploading = true
                  return upload(...args)
                },
                mediaUploadTimeoutMs: uploadMillis,
              }),
            )
            return await Promise.race([encrypted, broken.promise])
          },
          catch: (cause) =>
            isUnreadable || (!isUploading && isOfSystem(cause))
              ? new Unreadable()
              : new NotUploaded({ cause }),
        }).pipe(
          Effect.tapErrorTag("Unreadable", () =>
            isUnreadable
              ? Effect.void
              : Effect.logWarning(`could not encrypt media: ${tmpdir()} is not writable`),
          ),
        ),
      (stream) => Effect.sync(() => stream.destroy()),
    )
  },
)

export const textContent = (text: string): proto.IMessage => ({ extendedTextMessage: { text } })

/** The address of the quoted message's author; the number's own for its owner and this service. */
const toParticipant = ({ author }: Quote, { id }: Own): string | undefined => {
  if (author === null) return id === undefined ? undefined : withoutDevice(id)
  if (author.phone !== null) return `${author.phone.slice(1)}${S_WHATSAPP_NET}`
  return author.lid === null ? undefined : `${author.lid}@lid`
}

/** The content with what it quotes, in the part that has its text. `own`: the number's addresses. */
export const withQuote = (
  content: proto.IMessage,
  quote: Quote | null,
  own: Own,
): proto.IMessage => {
  if (quote === null) return content
  const participant = toParticipant(quote, own)
  const contextInfo: proto.IContextInfo = {
    stanzaId: quote.remoteId,
    ...(participant !== undefined && { participant }),
    quotedMessage: { conversation: quote.text },
  }
  const { documentMessage, extendedTextMessage, imageMessage } = content
  if (extendedTextMessage) {
    return { ...content, extendedTextMessage: { ...extendedTextMessage, contextInfo } }
  }
  return imageMessage
    ? { ...content, imageMessage: { ...imageMessage, contextInfo } }
    : { ...content, documentMessage: { ...documentMessage, contextInfo } }
}

export const textOfMessage = (message: proto.IMessage): string =>
  Buffer.from(proto.Message.encode(message).finish()).toString("base64")

export const messageFromText = (text: string | undefined): proto.IMessage | undefined =>
  text === undefined ? undefined : proto.Message.decode(Buffer.from(text, "base64"))
