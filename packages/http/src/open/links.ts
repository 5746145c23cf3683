/**
 * The targets of links in answers, open to everyone who has a link: stored files (contract: Stored
 * files), streamed from storage, and the QR codes of connecting numbers (contract: Number status).
 * A browser must never run a customer's upload. So a file is served by its own MIME type only when
 * that is on a list, and inline only when it is a picture.
 */
import { MediaDirectory, QrImages, QrLinks } from "@messaging-service/core"
import type { OpenedFile } from "@messaging-service/core"
import { Effect, Stream } from "effect"
import { disposition, header, noSniff } from "../openapi/Operation.ts"
import type { Answer, Header } from "../openapi/Operation.ts"
import { bytesReply } from "../IncomingRequest.ts"
import type { IncomingRequest, Reply } from "../IncomingRequest.ts"
import { content, openRoute, success } from "../Entry.ts"
import type { OpenRoute } from "../Entry.ts"

interface ByteRange {
  readonly start: number
  /** The position after the last byte. */
  readonly end: number
}

const rangeForm = /^bytes=(\d{0,15})-(\d{0,15})$/

/**
 * The part of a content of that size that a `Range` header requests, if it requests a single range
 * of bytes (others are ignored); `undefined` for all of it, `null` for a range outside the content.
 */
const byteRange = (range: string | undefined, size: number): ByteRange | null | undefined => {
  const match = rangeForm.exec(range?.trim() ?? "")
  const [first = "", last = ""] = match?.slice(1) ?? []
  if (first === "" && last === "") return undefined
  if (first === "") {
    const length = Math.min(Number(last), size)
    return length === 0 ? null : { start: size - length, end: size }
  }
  const start = Number(first)
  const end = last === "" ? size : Math.min(Number(last) + 1, size)
  if (last !== "" && Number(last) < start) return undefined
  return start < size ? { start, end } : null
}

/** Detected pictures, sounds, films and PDF; no markup. */
const servedMimeTypes: ReadonlySet<string> = new Set(
  `image/jpeg image/png image/apng image/gif image/webp image/avif image/bmp image/tiff image/heic
  image/heif image/x-icon
  audio/mpeg audio/mp4 audio/x-m4a audio/aac audio/ogg audio/opus audio/wav audio/flac audio/x-flac
  audio/amr audio/midi audio/aiff
  video/mp4 video/mpeg video/webm video/quicktime video/3gpp video/3gpp2 video/ogg
  video/matroska video/x-matroska video/vnd.avi video/x-m4v
  application/pdf`.split(/\s+/),
)

const servedMimeType = (mimeType: string): string =>
  servedMimeTypes.has(mimeType) ? mimeType : "application/octet-stream"

/** For clients that know only ASCII: every other character, and what needs escaping, becomes `_`. */
const asciiName = (fileName: string): string => fileName.replaceAll(/[^\x20-\x7e]|["\\%]/gu, "_")

/** The name in the form of RFC 8187, for all others. */
const extendedName = (fileName: string): string =>
  encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** `Content-Disposition` of a file with that MIME type. */
const contentDisposition = (mimeType: string, fileName: string): string => {
  const kind = mimeType.startsWith("image/") ? "inline" : "attachment"
  return `${kind}; filename="${asciiName(fileName)}"; filename*=UTF-8''${extendedName(fileName)}`
}

/** A part is sent only when it belongs to the same content as the client's other parts. */
const rangeHeader = ({ request }: IncomingRequest, etag: string): string | undefined => {
  const condition = request.headers["if-range"]
  return condition === undefined || condition === etag ? request.headers["range"] : undefined
}

const serve = (incoming: IncomingRequest, file: OpenedFile): Reply => {
  const { answerHeaders: headers } = incoming
  const { sha256, size } = file.content
  const contentType = servedMimeType(file.mimeType)
  const etag = `"${sha256}"`
  headers["content-disposition"] = contentDisposition(contentType, file.fileName)
  headers["x-content-type-options"] = "nosniff"
  headers["content-security-policy"] = "default-src 'none'; sandbox"
  headers["accept-ranges"] = "bytes"
  headers["etag"] = etag
  const range = byteRange(rangeHeader(incoming, etag), size)
  if (range === undefined) {
    return { status: 200, content: { contentType, length: size, bytes: file.content.content } }
  }
  if (range === null) {
    headers["content-range"] = `bytes */${size}`
    return { status: 416, content: { contentType, length: 0, bytes: Stream.empty } }
  }
  const { end, start } = range
  headers["content-range"] = `bytes ${start}-${end - 1}/${size}`
  const part = { contentType, length: end - start, bytes: file.content.part(start, end) }
  return { status: 206, content: part }
}

const fileHeaders: ReadonlyArray<Header> = [
  noSniff,
  disposition,
  header("Content-Security-Policy", "Nothing in the file runs."),
  header("Accept-Ranges", "Always `bytes`."),
  header("ETag", "Of the content."),
]

const ofFile = (description: string, more: ReadonlyArray<Header> = []): Answer =>
  success(description, content("*/*", {}), [...fileHeaders, ...more])

const contentRange = [header("Content-Range", "The part, and the whole length.")]

/** The services of handlers. */
export type LinkServices = MediaDirectory | QrImages | QrLinks

export const linkRoutes: ReadonlyArray<OpenRoute<LinkServices>> = [
  openRoute("/media/{token}/{name}", {
    id: "readFile",
    tag: "Links",
    summary: "Read a stored file",
    about: "The `url` of a file is valid for 26 hours, for everyone who has it.",
    headers: [
      header("Range", "One range of bytes, such as `bytes=0-1023`."),
      header("If-Range", "The `ETag` of the content that the client has the rest of."),
    ],
    answers: [
      ofFile("The whole file."),
      { ...ofFile("The part that `Range` asked for.", contentRange), status: 206 },
      { ...ofFile("There is no such part.", contentRange), status: 416, content: undefined },
    ],
    refused: ["not_found"],
    handler: Effect.fnUntraced(function* readFile(incoming, parameter) {
      const media = yield* MediaDirectory
      return serve(incoming, yield* media.open(parameter("token"), parameter("name")))
    }),
  }),
  openRoute("/qr/{token}", {
    id: "readQrCode",
    tag: "Links",
    summary: "Read a QR code",
    about:
      "The `qr_code_url` of a connecting number, whose last segment ends in `.png`, works for 10 minutes. Each look shows the newest code.",
    answers: [success("The picture.", content("image/png", {}), [noSniff])],
    refused: ["not_found"],
    handler: Effect.fnUntraced(function* readQrCode(incoming, parameter) {
      const links = yield* QrLinks
      const images = yield* QrImages
      const png = yield* images.png(yield* links.read(parameter("token")))
      incoming.answerHeaders["x-content-type-options"] = "nosniff"
      return bytesReply("image/png", png)
    }),
  }),
]
