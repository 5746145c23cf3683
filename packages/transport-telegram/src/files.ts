/** Files that people send: how Telegram gives their parts. */
import { FileUnavailable } from "@messaging-service/core"
import { Long } from "@mtcute/node"
import type { TelegramClient, tl } from "@mtcute/node"
import { Effect, Option, Stream } from "effect"
import type { CallFailed, Questions } from "./Client.ts"
import { toggleChannelIdMark, toInputChannel } from "@mtcute/node/utils.js"
import { toSource } from "./fileSource.ts"
import type { FileSource, MessagePlace } from "./fileSource.ts"
import { resolveGroup } from "./recipients.ts"

/** An account's connection. */
interface Access {
  readonly client: TelegramClient
  readonly questions: Questions
}

const unavailable = (reason: FileUnavailable["reason"]) => new FileUnavailable({ reason })

const toLocation = ({
  accessHash,
  fileReference,
  id,
  kind,
  thumbSize,
}: FileSource): tl.TypeInputFileLocation => ({
  _: kind === "photo" ? "inputPhotoFileLocation" : "inputDocumentFileLocation",
  id: Long.fromString(id),
  accessHash: Long.fromString(accessHash),
  fileReference: Buffer.from(fileReference, "base64"),
  thumbSize,
})

/** A part lies within one such block. */
const partBytes = 512 * 1024

const getPart = ({ client, questions }: Access, source: FileSource, offset: number) =>
  questions
    .request((abortSignal) =>
      client.call(
        { _: "upload.getFile", location: toLocation(source), offset, limit: partBytes },
        { kind: "download", dcId: source.dcId, abortSignal },
      ),
    )
    .pipe(
      Effect.flatMap((part) =>
        part._ === "upload.file" ? Effect.succeed(part.bytes) : Effect.fail(unavailable("later")),
      ),
    )

const isReferenceOver = ({ text }: CallFailed): boolean =>
  text.startsWith("FILE_REFERENCE") || text.startsWith("FILEREF")

const toUnavailable = (failed: CallFailed): FileUnavailable =>
  unavailable(failed.code === 400 && !isReferenceOver(failed) ? "gone" : "later")

const getMessage = Effect.fnUntraced(function* getMessage(
  account: Access,
  { channelId, messageId }: MessagePlace,
) {
  const { client, questions } = account
  const id: Array<tl.TypeInputMessage> = [{ _: "inputMessageID", id: messageId }]
  if (channelId === undefined) {
    const call = { _: "messages.getMessages", id } as const
    return yield* questions.request((abortSignal) => client.call(call, { abortSignal }))
  }
  const group = yield* resolveGroup(account, String(toggleChannelIdMark(channelId)))
  if (!("peer" in group) || group.peer._ !== "inputPeerChannel") return yield* unavailable("gone")
  const call = { _: "channels.getMessages", channel: toInputChannel(group.peer), id } as const
  return yield* questions.request((abortSignal) => client.call(call, { abortSignal }))
})

/** Asks for the message again: its file has a new reference. */
const renew = Effect.fnUntraced(function* renew(
  account: Access,
  { channelId, id, messageId }: FileSource,
) {
  const position = channelId === undefined ? { messageId } : { messageId, channelId }
  const found = yield* getMessage(account, position)
  const [message] = "messages" in found ? found.messages : []
  const media = message?._ === "message" ? message.media : undefined
  const file =
    media?._ === "messageMediaPhoto"
      ? media.photo
      : media?._ === "messageMediaDocument"
        ? media.document
        : undefined
  const source = toSource(file, position)
  return source?.id === id ? source : yield* unavailable("gone")
})

/** The bytes of a file, part by part. A reference that ended is renewed once. */
export const fetchFile = (
  account: Access,
  text: string,
): Stream.Stream<Uint8Array, FileUnavailable> =>
  Stream.suspend(() => {
    let source = JSON.parse(text) as FileSource
    let isRenewed = false
    const next = (offset: number): Effect.Effect<Uint8Array, CallFailed | FileUnavailable> =>
      getPart(account, source, offset).pipe(
        Effect.catchTag("CallFailed", (failed) => {
          if (!isReferenceOver(failed) || isRenewed) return Effect.fail(failed)
          isRenewed = true
          return Effect.flatMap(renew(account, source), (renewed) => {
            source = renewed
            return next(offset)
          })
        }),
      )
    return Stream.paginate(0, (offset) =>
      Effect.map(next(offset), (bytes) => [
        bytes.length === 0 ? [] : [bytes],
        bytes.length < partBytes ? Option.none<number>() : Option.some(offset + partBytes),
      ]),
    ).pipe(Stream.catchTag("CallFailed", (failed) => Stream.fail(toUnavailable(failed))))
  })
