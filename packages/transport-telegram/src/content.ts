/**
 * A message as it goes over the wire: its text without the marks of formatting, which stand beside it, and
 * its file, which is uploaded from the stream, so that it is never whole in memory.
 */
import type { OutgoingMedia } from "@messaging-service/core"
import type { TelegramClient, tl } from "@mtcute/node"
import { Effect, Stream } from "effect"
import type { Ask, CallFailed } from "./Client.ts"
import { formatted } from "./formatting.ts"
import type { Formatted } from "./formatting.ts"

const entityNames = {
  bold: "messageEntityBold",
  italic: "messageEntityItalic",
  strike: "messageEntityStrike",
} as const

const entityOf = ({
  kind,
  length,
  offset,
}: Formatted["entities"][number]): tl.TypeMessageEntity => ({
  _: entityNames[kind],
  offset,
  length,
})

export const textOf = (source: string) => {
  const { entities, text } = formatted(source)
  return { message: text, entities: entities.map(entityOf) }
}

/** Telegram takes no larger pictures; what is larger goes as a file. */
const largestPicture = 10 * 1024 * 1024

/** The file could not be read. */
const unreadable = "unreadable" as const

/** Puts the file to the far side; no recipient sees it before the message that names it. */
export const upload = (
  client: TelegramClient,
  ask: Ask,
  { content, fileName, mimeType, size, type }: OutgoingMedia,
): Effect.Effect<tl.TypeInputMedia | typeof unreadable, CallFailed> =>
  Effect.suspend(() => {
    let isUnreadable = false
    const bytes = Stream.tapError(content, () =>
      Effect.sync(() => {
        isUnreadable = true
      }),
    )
    const uploaded = ask((abortSignal) =>
      client.uploadFile({
        file: Stream.toReadableStream(bytes),
        fileSize: size,
        fileName,
        fileMime: mimeType,
        abortSignal,
      }),
    )
    return uploaded.pipe(
      Effect.map(({ inputFile: file }): tl.TypeInputMedia =>
        type === "image" && size <= largestPicture
          ? { _: "inputMediaUploadedPhoto", file }
          : {
              _: "inputMediaUploadedDocument",
              file,
              mimeType,
              forceFile: true,
              attributes: [{ _: "documentAttributeFilename", fileName }],
            },
      ),
      Effect.catchTag("CallFailed", (failed) =>
        isUnreadable ? Effect.succeed(unreadable) : Effect.fail(failed),
      ),
    )
  })
