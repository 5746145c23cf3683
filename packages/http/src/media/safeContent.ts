/**
 * How a stored file is shown to a browser, which must never run what a customer has uploaded: by
 * its own MIME type only when that is on a list, and as a picture in a page only when it is one
 * (contract: Stored files).
 */

/** What the sniffer calls pictures, sounds, films and PDF; no markup among them. */
const servedMimeTypes: ReadonlySet<string> = new Set(
  `image/jpeg image/png image/apng image/gif image/webp image/avif image/bmp image/tiff image/heic
  image/heif image/x-icon
  audio/mpeg audio/mp4 audio/x-m4a audio/aac audio/ogg audio/opus audio/wav audio/flac audio/x-flac
  audio/amr audio/midi audio/aiff
  video/mp4 video/mpeg video/webm video/quicktime video/3gpp video/3gpp2 video/ogg
  video/matroska video/x-matroska video/vnd.avi video/x-m4v
  application/pdf`.split(/\s+/),
)

export const servedMimeType = (mimeType: string): string =>
  servedMimeTypes.has(mimeType) ? mimeType : "application/octet-stream"

/** For clients that know only ASCII: every other character, and what needs escaping, is `_`. */
const asciiName = (fileName: string): string => fileName.replaceAll(/[^\x20-\x7e]|["\\%]/gu, "_")

/** The name in the form of RFC 8187, for all others. */
const extendedName = (fileName: string): string =>
  encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** `Content-Disposition` of a file that is served with that MIME type. */
export const contentDisposition = (mimeType: string, fileName: string): string => {
  const kind = mimeType.startsWith("image/") ? "inline" : "attachment"
  return `${kind}; filename="${asciiName(fileName)}"; filename*=UTF-8''${extendedName(fileName)}`
}
