/**
 * Builds a message's content: text without formatting marks, the entities of the formatting, and a file,
 * uploaded as a stream and never whole in memory.
 */
import type { OutgoingMedia } from "@messaging-service/core"
import type { TelegramClient, tl } from "@mtcute/node"
import { Effect, Stream } from "effect"
import type { Requester, CallFailed } from "./Client.ts"

/**
 * Formatting marks in texts, `*bold*`, `_italic_` and `~strike~`, in Telegram's form: the text without the
 * marks, and the formatted parts. A mark opens before a word and closes after one, on the same line; any
 * other one is an ordinary character. Pure.
 */

interface Formatted {
  readonly text: string
  readonly entities: ReadonlyArray<{
    readonly kind: "bold" | "italic" | "strike"
    /** In UTF-16 code units. */
    readonly offset: number
    readonly length: number
  }>
}

const kinds = { "*": "bold", _: "italic", "~": "strike" } as const

type Mark = keyof typeof kinds

const isMark = (character: string): character is Mark => character in kinds

const isWord = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}]/u.test(character)

const isSpace = (character: string | undefined): boolean =>
  character === undefined || /\s/.test(character)

/** The end of the part that the mark at `start` opens; -1 when it opens none. */
const closingAt = (characters: ReadonlyArray<string>, start: number, end: number): number => {
  const mark = characters[start]
  if (isWord(characters[start - 1]) || isSpace(characters[start + 1])) return -1
  for (let index = start + 1; index < end; index++) {
    if (characters[index] === "\n") return -1
    const closes = characters[index] === mark && index > start + 1
    if (closes && !isSpace(characters[index - 1]) && !isWord(characters[index + 1])) return index
  }
  return -1
}

export const formatted = (source: string): Formatted => {
  if (!/[*_~]/.test(source)) return { text: source, entities: [] }
  const characters = [...source]
  const entities: Array<Formatted["entities"][number]> = []
  let text = ""

  const take = (from: number, to: number): void => {
    for (let position = from; position < to; position++) {
      const character = characters[position] ?? ""
      const closing = isMark(character) ? closingAt(characters, position, to) : -1
      if (!isMark(character) || closing === -1) {
        text += character
        continue
      }
      const offset = text.length
      // A part comes before its nested parts.
      const index = entities.push({ kind: kinds[character], offset, length: 0 }) - 1
      take(position + 1, closing)
      entities[index] = { kind: kinds[character], offset, length: text.length - offset }
      position = closing
    }
  }
  take(0, characters.length)
  return { text, entities }
}

const entityNames = {
  bold: "messageEntityBold",
  italic: "messageEntityItalic",
  strike: "messageEntityStrike",
} as const

const toEntity = ({
  kind,
  length,
  offset,
}: Formatted["entities"][number]): tl.TypeMessageEntity => ({
  _: entityNames[kind],
  offset,
  length,
})

export const toText = (source: string) => {
  const { entities, text } = formatted(source)
  return { message: text, entities: entities.map(toEntity) }
}

/** Telegram accepts larger pictures only as files. */
const largestPicture = 10 * 1024 * 1024

const unreadable = "unreadable" as const

/** Uploads the file; recipients see it only with its message. */
export const upload = (
  client: TelegramClient,
  request: Requester,
  { content, fileName, mimeType, size, type }: OutgoingMedia,
): Effect.Effect<tl.TypeInputMedia | typeof unreadable, CallFailed> =>
  Effect.suspend(() => {
    let isUnreadable = false
    const bytes = Stream.tapError(content, () =>
      Effect.sync(() => {
        isUnreadable = true
      }),
    )
    const uploaded = request((abortSignal) =>
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
