/**
 * What a content is, and which endings fit it. The first bytes decide; where a format has none that
 * tell it apart, the ending of the file's name does, and only then: text that is called `.png` is
 * not a picture for that (contract: Media).
 *
 * An SVG is such text, and scripts may stand in it. Its MIME type is told, but to every transport and
 * in the media directory it is a file, and it is served as no picture.
 */

import { unknownMimeType } from "./MediaFiles.ts"

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
