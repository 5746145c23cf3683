/** Files of messages: what people attach, the references that open it, and what phones show of it. */
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { createHash } from "node:crypto"
import { randomLong, sha256 } from "./envelope.ts"
import { Refused, secondsNow } from "./ServerState.ts"
import type { DisplayedMedia, Media, ServerState } from "./ServerState.ts"

/** A file that a person's app attaches to a message. */
export interface Attachment {
  readonly kind: "photo" | "video" | "audio" | "voice" | "document" | "sticker"
  readonly bytes: Uint8Array
  /** Photos have none. */
  readonly fileName?: string
  readonly mimeType?: string
  readonly seconds?: number
  /** The length that the message names, in bytes. Default: the true one. */
  readonly size?: number
}

/** The reference that opens a file now; clients get it with the message. */
export const referenceNow = ({ fileRound }: ServerState, fileId: string | null): Uint8Array =>
  sha256(Buffer.from(`${fileId ?? ""} in round ${fileRound}`)).subarray(0, 16)

const mimeTypes: Readonly<Record<Attachment["kind"], string>> = {
  photo: "image/jpeg",
  video: "video/mp4",
  audio: "audio/mpeg",
  voice: "audio/ogg",
  document: "application/octet-stream",
  sticker: "image/webp",
}

const [width, height] = [512, 512]

const toAttributes = ({
  fileName,
  kind,
  seconds: duration = 0,
}: Attachment): Array<tl.TypeDocumentAttribute> => {
  const named: Array<tl.TypeDocumentAttribute> =
    fileName === undefined ? [] : [{ _: "documentAttributeFilename", fileName }]
  switch (kind) {
    case "video":
      return [{ _: "documentAttributeVideo", duration, w: width, h: height }, ...named]
    case "audio":
      return [{ _: "documentAttributeAudio", duration }, ...named]
    case "voice":
      return [{ _: "documentAttributeAudio", voice: true, duration }, ...named]
    case "sticker":
      return [
        { _: "documentAttributeImageSize", w: width, h: height },
        { _: "documentAttributeSticker", alt: "🙂", stickerset: { _: "inputStickerSetEmpty" } },
        ...named,
      ]
    case "photo":
    case "document":
      return named
  }
}

interface Described {
  readonly kind: "photo" | "document"
  readonly id: Long
  readonly accessHash: Long
  readonly dcId: number
  readonly date: number
  readonly mimeType: string
  readonly size: number
  readonly attributes: ReadonlyArray<tl.TypeDocumentAttribute>
}

const toMedia =
  ({ accessHash, attributes, date, dcId, id, kind, mimeType, size }: Described): Media["toMedia"] =>
  (fileReference) => {
    const common = { id, accessHash, fileReference, date, dcId }
    if (kind === "photo") {
      const sizes: Array<tl.RawPhotoSize> = [
        { _: "photoSize", type: "x", w: width, h: height, size },
      ]
      return { _: "messageMediaPhoto", photo: { _: "photo", ...common, sizes } }
    }
    const document: tl.RawDocument = {
      _: "document",
      ...common,
      mimeType,
      size,
      attributes: [...attributes],
    }
    const isVoice = attributes.some((each) => each._ === "documentAttributeAudio" && each.voice)
    const isVideo = attributes.some((each) => each._ === "documentAttributeVideo")
    const flags = { ...(isVoice ? { voice: true } : {}), ...(isVideo ? { video: true } : {}) }
    return { _: "messageMediaDocument", document, ...flags }
  }

/** Stores a file for downloads. */
export const attach = ({ files }: ServerState, dcId: number, attachment: Attachment): Media => {
  const {
    bytes,
    fileName = null,
    kind,
    mimeType = mimeTypes[kind],
    size = bytes.length,
  } = attachment
  const [id, accessHash, date] = [randomLong(), randomLong(), secondsNow()]
  const fileId = id.toString()
  files.set(fileId, { accessHash, dcId, date, bytes })
  const displayedKind = kind === "photo" ? "photo" : "document"
  const attributes = toAttributes(attachment)
  return {
    fileId,
    displayed: {
      kind: displayedKind,
      fileName,
      mimeType,
      size,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    },
    toMedia: toMedia({
      kind: displayedKind,
      id,
      accessHash,
      dcId,
      date,
      mimeType,
      size,
      attributes,
    }),
  }
}

/** A file that a client has uploaded. Only its length and hash stay. */
export const describeUpload = (
  dcId: number,
  displayed: DisplayedMedia,
  attributes: ReadonlyArray<tl.TypeDocumentAttribute>,
): Media => {
  const { kind, mimeType, size } = displayed
  const ids = { id: randomLong(), accessHash: randomLong() }
  const described = { kind, ...ids, dcId, date: secondsNow(), mimeType, size, attributes }
  return { fileId: ids.id.toString(), displayed, toMedia: toMedia(described) }
}

/** A part lies within one such block of its file. */
const blockBytes = 1024 * 1024
const unitBytes = 4096
const preciseUnitBytes = 1024

const checkRange = ({ limit, offset, precise = false }: tl.upload.RawGetFileRequest) => {
  const unit = precise ? preciseUnitBytes : unitBytes
  if (offset < 0 || offset % unit !== 0) throw new Refused(400, "OFFSET_INVALID")
  const isWhole = limit > 0 && limit <= blockBytes && limit % unit === 0
  const isInBlock =
    Math.floor(offset / blockBytes) === Math.floor((offset + limit - 1) / blockBytes)
  if (!isWhole || !isInBlock) throw new Refused(400, "LIMIT_INVALID")
}

/** A part of a file; shorter, or empty, at its end. */
export const getFilePart = (
  state: ServerState,
  dcId: number,
  request: tl.upload.RawGetFileRequest,
): tl.upload.RawFile => {
  const { limit, location, offset } = request
  if (location._ !== "inputDocumentFileLocation" && location._ !== "inputPhotoFileLocation") {
    throw new Refused(400, "LOCATION_INVALID")
  }
  checkRange(request)
  const { accessHash, fileReference, id } = location
  const file = state.files.get(id.toString())
  if (file === undefined || file.accessHash.neq(accessHash)) {
    throw new Refused(400, "FILE_ID_INVALID")
  }
  if (fileReference.length === 0) throw new Refused(400, "FILE_REFERENCE_EMPTY")
  if (Buffer.compare(fileReference, referenceNow(state, id.toString())) !== 0) {
    throw new Refused(400, "FILE_REFERENCE_EXPIRED")
  }
  if (file.dcId !== dcId) throw new Refused(303, `FILE_MIGRATE_${file.dcId}`)
  return {
    _: "upload.file",
    type: { _: "storage.fileUnknown" },
    mtime: file.date,
    bytes: file.bytes.subarray(offset, offset + limit),
  }
}
