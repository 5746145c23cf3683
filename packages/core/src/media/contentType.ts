/**
 * What a content is, and which endings fit it. The first bytes decide; where a format has none that
 * tell it apart, the ending of the file's name does, and only then: a text named `.png` is still not a
 * picture (contract: Media).
 *
 * An SVG is such text, and scripts may stand in it. Its MIME type is told, but to every transport and
 * in the media directory it is a file, and it is served as no picture. The transports show four kinds
 * of picture; every other one (SVG, TIFF, HEIC …) arrives as a file, so that nothing fails for its
 * format.
 */
import { unknownMimeType } from "./MediaFiles.ts"

export const mediaTypes = ["image", "file"] as const

export type MediaType = (typeof mediaTypes)[number]

/** What a content is by its first bytes, when all that they tell is that it is marked up. */
const anyXml = "application/xml"

/** Formats without first bytes of their own, with their endings. The first ending is the usual one. */
const toldByEnding: Readonly<Record<string, string>> = {
  "text/plain": "txt text log",
  "text/csv": "csv",
  "text/tab-separated-values": "tsv",
  "text/markdown": "md markdown",
  "text/html": "html htm",
  "text/css": "css",
  "text/javascript": "js mjs",
  "text/calendar": "ics",
  "text/vcard": "vcf",
  "application/json": "json",
  "application/x-ndjson": "ndjson jsonl",
  "application/geo+json": "geojson",
  "application/yaml": "yaml yml",
  "application/sql": "sql",
  "application/x-subrip": "srt",
  "message/rfc822": "eml",
  [anyXml]: "xml",
  "image/svg+xml": "svg",
  "application/xhtml+xml": "xhtml",
  "application/gpx+xml": "gpx",
  "application/vnd.google-earth.kml+xml": "kml",
}

/** Formats that their first bytes tell, as the sniffer calls them. */
const toldByBytes: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg jpeg jpe jfif",
  "image/png": "png",
  "image/apng": "png apng",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/bmp": "bmp",
  "image/tiff": "tif tiff",
  "image/heic": "heic heif",
  "image/heif": "heif heic",
  "image/avif": "avif",
  "image/x-icon": "ico",
  "image/vnd.adobe.photoshop": "psd",
  "application/pdf": "pdf",
  "application/rtf": "rtf",
  "application/epub+zip": "epub",
  "application/x-7z-compressed": "7z",
  "application/x-rar-compressed": "rar",
  "application/x-tar": "tar",
  "application/vnd.android.package-archive": "apk",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.oasis.opendocument.text": "odt",
  "application/vnd.oasis.opendocument.spreadsheet": "ods",
  "application/vnd.oasis.opendocument.presentation": "odp",
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a mp4",
  "audio/x-m4a": "m4a",
  "audio/aac": "aac",
  "audio/ogg": "ogg oga opus",
  "audio/wav": "wav",
  "audio/flac": "flac",
  "audio/amr": "amr",
  "video/mp4": "mp4 m4v",
  "video/x-m4v": "m4v mp4",
  "video/quicktime": "mov qt",
  "video/webm": "webm",
  "video/matroska": "mkv",
  "video/vnd.avi": "avi",
  "video/mpeg": "mpg mpeg",
  "video/3gpp": "3gp",
}

/** Formats that many others are made of: any ending may be right for them. */
const containers: Readonly<Record<string, string>> = {
  "application/zip": "zip",
  "application/gzip": "gz",
  "application/x-bzip2": "bz2",
  "application/x-xz": "xz",
}

const listed = (endings: string): ReadonlyArray<string> => endings.split(" ")

const typeByEnding: ReadonlyMap<string, string> = new Map(
  Object.entries(toldByEnding).flatMap(([mimeType, endings]) =>
    listed(endings).map((ending) => [ending, mimeType] as const),
  ),
)

/** The ending of a name in lower case, without its dot; empty when it has none. */
export const endingOf = (fileName: string): string =>
  /.\.([a-z0-9]{1,10})$/i.exec(fileName)?.[1]?.toLowerCase() ?? ""

/** The MIME type of a content of that name; `sniffed` is what its first bytes tell. */
export const mimeTypeOf = (sniffed: string, fileName: string): string => {
  const byEnding = typeByEnding.get(endingOf(fileName))
  if (byEnding === undefined) return sniffed
  if (sniffed === anyXml) return byEnding.endsWith("+xml") ? byEnding : sniffed
  return sniffed === unknownMimeType ? byEnding : sniffed
}

/** The name with an ending that fits the type, added where it has none or another's. */
export const withFittingEnding = (fileName: string, mimeType: string): string => {
  const ending = endingOf(fileName)
  const container = containers[mimeType]
  if (container !== undefined) return ending === "" ? `${fileName}.${container}` : fileName
  const fitting = listed(toldByBytes[mimeType] ?? toldByEnding[mimeType] ?? "")
  return fitting[0] === "" || fitting.includes(ending) ? fileName : `${fileName}.${fitting[0]}`
}

/** Why a content cannot be sent as that kind; undefined when it can. */
export const whyUnsendable = (
  type: MediaType | null,
  { mimeType, size }: { readonly mimeType: string; readonly size: number },
): string | undefined => {
  if (size === 0) return "The media file is empty."
  return type === "image" && mediaTypeOf(mimeType) !== "image"
    ? "The media file is no image that can be sent as one: JPEG, PNG, WebP or GIF."
    : undefined
}

/** The kind of a content, by its MIME type without parameters. */
export const mediaTypeOf = (mimeType: string): MediaType =>
  shownMimeTypes.has(mimeType.toLowerCase()) ? "image" : "file"

/**
 * The kind that a link's path tells by its ending, in any case; `undefined` when it tells nothing, as
 * for an ending of programs (`.php`) or none: that is settled at send time, from the content.
 */
export const mediaTypeOfLink = (url: string): MediaType | undefined => {
  const ending = endingForm.exec(URL.parse(url)?.pathname ?? "")?.[1]?.toLowerCase()
  if (ending === undefined) return undefined
  if (shownEndings.has(ending)) return "image"
  return fileEndings.has(ending) ? "file" : undefined
}

const shownMimeTypes: ReadonlySet<string> = new Set([
  "image/jpeg",
  "image/png",
  "image/webp",
  "image/gif",
])

// A name in front is asked for: "/.png" is a hidden file without an ending.
const endingForm = /[^/.][^/]*\.([a-z0-9]{1,5})$/i

const shownEndings: ReadonlySet<string> = new Set(["jpg", "jpeg", "png", "webp", "gif"])

// Endings that servers give to static files of that very kind.
const fileEndings: ReadonlySet<string> = new Set(
  `pdf epub txt csv rtf md json xml ics vcf
  doc docx xls xlsx ppt pptx odt ods odp
  zip rar 7z tar gz bz2 xz apk
  mp3 m4a aac ogg opus wav flac amr
  mp4 m4v mov avi mkv webm 3gp
  svg bmp tif tiff heic heif avif psd`.split(/\s+/),
)
