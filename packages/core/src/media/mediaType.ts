/**
 * What is shown as a picture and what is handed over as a file. The transports show four kinds of
 * picture; every other one (SVG, TIFF, HEIC …) arrives as a file, so that nothing fails for its format.
 */
import type { MediaType } from "./Media.ts"

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
