/** What of a message leads to its file. Pure. */
import type { tl } from "@mtcute/node"

/** What leads to a file, as JSON holds it; the reference, in base64, ends. */
export interface FileSource {
  readonly kind: "photo" | "document"
  readonly id: string
  readonly accessHash: string
  readonly fileReference: string
  /** Which size of a picture. */
  readonly thumbSize: string
  readonly dcId: number
  readonly messageId: number
  /** The supergroup, which has message ids of its own; absent elsewhere. */
  readonly channelId?: number
}

/** Where the file's message is. */
export type MessagePlace = Pick<FileSource, "messageId" | "channelId">

export const getBytes = (size: tl.TypePhotoSize): number => {
  if (size._ === "photoSize") return size.size
  return size._ === "photoSizeProgressive" ? Math.max(0, ...size.sizes) : 0
}

type File = tl.TypePhoto | tl.TypeDocument | undefined

export const toSource = (file: File, place: MessagePlace): FileSource | null => {
  if (file?._ !== "photo" && file?._ !== "document") return null
  const largest =
    file._ === "photo"
      ? file.sizes.toSorted((a, b) => getBytes(b) - getBytes(a)).find((size) => getBytes(size) > 0)
      : undefined
  if (file._ === "photo" && largest === undefined) return null
  return {
    kind: file._,
    id: file.id.toString(),
    accessHash: file.accessHash.toString(),
    fileReference: Buffer.from(file.fileReference).toString("base64"),
    thumbSize: largest !== undefined && "type" in largest ? largest.type : "",
    dcId: file.dcId,
    ...place,
  }
}

/** Null where the message does not lead to its file. */
export const toFileSource = (file: File, place: MessagePlace): string | null => {
  const source = toSource(file, place)
  return source && JSON.stringify(source)
}
