/**
 * Images and files: references in requests, file records and their store, content types, file
 * names, and signed links.
 */
import { Context, Data, Effect, Layer, Result, Schema } from "effect"
import type { Scope, Stream } from "effect"
import { outboundUrlMessage, parseOutboundUrl } from "./Egress.ts"
import type { EgressAnswer, OutboundRule } from "./Egress.ts"
import { problem, refuse, StoreUnavailable } from "./Refusal.ts"
import type { Problem, Refusal } from "./Refusal.ts"
import type { MediaId, ReceivedMessageId, WorkspaceId } from "./Ids.ts"
import type { Sender } from "./Auth.ts"
import type { IdempotencyClaim } from "./Idempotency.ts"
import { codePointLength, described, nameUpTo, PublicUrl } from "./Input.ts"
import type { PageOf, PageQuery } from "./Page.ts"
import { sameSecret, Secrets, sign } from "./Secrets.ts"
import type { Mode } from "./Workspace.ts"

// The port that stores the bytes of media files, by an opaque storage key.

export class MediaFilesError
  extends /*#__PURE__*/ Data.TaggedError("MediaFilesError")<{
    /** `full`: the disk has no room for it. */
    readonly reason: "not_found" | "too_large" | "full" | "io"
    readonly cause?: unknown
  }>
{
  override get message() {
    return `media file: ${this.reason}`
  }
}

/** The disk is a store too: its failures are the service's fault, not the request's. */
export const filesUnavailable =
  (operation: string) =>
  (cause: MediaFilesError): StoreUnavailable =>
    new StoreUnavailable({ operation, cause })

/** The type of unrecognized content. */
export const unknownMimeType = "application/octet-stream"

/** A file with content that can be read repeatedly. */
export interface StoredContent {
  readonly size: number
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256: string
  /** Detected from the first bytes; `unknownMimeType` if they tell nothing. */
  readonly mimeType: string
  readonly content: Stream.Stream<Uint8Array, MediaFilesError>
  /** The bytes from `start` to before `end`. */
  part(start: number, end: number): Stream.Stream<Uint8Array, MediaFilesError>
}

/** Content that disappears when its scope closes, unless kept. */
export interface SpooledContent extends StoredContent {
  /** The key for `keep`. */
  readonly storageKey: string
  /**
   * Stores it under its key, whole or not at all. Once, while its scope is open; `open` reads it
   * from then on.
   */
  readonly keep: Effect.Effect<void, MediaFilesError>
}

/** Bytes of a disk. */
export interface DiskRoom {
  readonly free: number
  /** What files leave to everything else. */
  readonly reserve: number
}

export class MediaFiles
  extends /*#__PURE__*/ Context.Service<
    MediaFiles,
    {
      /** Whether it can store content: a process without a disk only passes links on. */
      readonly isRetained: boolean
      /** Opens a stored file. Fails with `not_found` only when it surely does not exist. */
      open(storageKey: string): Effect.Effect<StoredContent, MediaFilesError>
      /**
       * Spools a stream into a temporary file of the scope, never whole in memory. Fails with
       * `too_large` past `maximumBytes`, and with `full`.
       */
      spool<E>(
        content: Stream.Stream<Uint8Array, E>,
        maximumBytes: number,
      ): Effect.Effect<SpooledContent, MediaFilesError | E, Scope.Scope>
      /** Fails with `full` while the disk has less free than its reserve. */
      readonly room: Effect.Effect<void, MediaFilesError>
      /** The disk's free space and its reserve; null without a disk, or where it does not tell. */
      readonly space: Effect.Effect<DiskRoom | null, MediaFilesError>
      /** Also succeeds when the key has no file. */
      remove(storageKey: string): Effect.Effect<void, MediaFilesError>
      /** Fails when nothing can be written. */
      readonly ready: Effect.Effect<void, MediaFilesError>
      /** Deletes spooled files that killed processes left behind. */
      readonly removeAbandoned: Effect.Effect<void, MediaFilesError>
    }
  >()("core/MediaFiles") {}

/** Refuses a file when the disk is full, whatever storage the plan has left. */
export const noRoomForFile = /*#__PURE__*/ refuse("service_unavailable", {
  message:
    "The service has no room for files at present. Retry after the seconds of `Retry-After`.",
  retryAfter: 60,
})

/** Refuses a file, on `field`, if this process cannot store it. */
export const refuseUnkept = (
  { isRetained }: Pick<typeof MediaFiles.Service, "isRetained">,
  field: string,
): Refusal<"validation_failed"> | undefined =>
  isRetained
    ? undefined
    : refuse("validation_failed", {
        field,
        message:
          "A file needs a disk (dataDirectory), which this process does not have: use one that has it, or send a link by version 2.",
      })

// What content is, and which file extensions fit it. The first bytes decide. Only formats without a
// signature go by the name's extension: a text named `.png` is still no image (contract: Media).
// An SVG is such text and may contain scripts. It keeps its MIME type, but counts and is served as
// a file. Transports show four image types; others (SVG, TIFF, HEIC …) arrive as files, so that no
// format fails.

export const mediaTypes = ["image", "file"] as const

export type MediaType = (typeof mediaTypes)[number]

/** For content when its first bytes show only that it is markup. */
const anyXml = "application/xml"

/** Formats without a signature, with their extensions, the usual one first. */
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

/** Formats with a signature, as the sniffer names them. */
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

/** Container formats of many others: any extension may fit. */
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

/** The name's extension, lower case, without dot; empty for none. */
const fileExtension = (fileName: string): string =>
  /.\.([a-z0-9]{1,10})$/i.exec(fileName)?.[1]?.toLowerCase() ?? ""

/** The MIME type of content with that name; `sniffed` comes from its first bytes. */
export const toMimeType = (sniffed: string, fileName: string): string => {
  const byEnding = typeByEnding.get(fileExtension(fileName))
  if (byEnding === undefined) return sniffed
  if (sniffed === anyXml) return byEnding.endsWith("+xml") ? byEnding : sniffed
  return sniffed === unknownMimeType ? byEnding : sniffed
}

/** The name, with a fitting extension added unless it has one. */
export const withFittingEnding = (fileName: string, mimeType: string): string => {
  const ending = fileExtension(fileName)
  const container = containers[mimeType]
  if (container !== undefined) return ending === "" ? `${fileName}.${container}` : fileName
  const fitting = listed(toldByBytes[mimeType] ?? toldByEnding[mimeType] ?? "")
  return fitting[0] === "" || fitting.includes(ending) ? fileName : `${fileName}.${fitting[0]}`
}

/** Why content cannot be sent as that kind; undefined when it can. */
export const whyUnsendable = (
  type: MediaType | null,
  { mimeType, size }: { readonly mimeType: string; readonly size: number },
): string | undefined => {
  if (size === 0) return "The media file is empty."
  return type === "image" && toMediaType(mimeType) !== "image"
    ? "The media file is no image that can be sent as one: JPEG, PNG, WebP or GIF."
    : undefined
}

/** The kind of content, by its MIME type without parameters. */
export const toMediaType = (mimeType: string): MediaType =>
  imageMimeTypes.has(mimeType.toLowerCase()) ? "image" : "file"

/**
 * The kind that a URL's extension implies, in any case. Undefined for none or one of programs
 * (`.php`): the content decides at send time.
 */
export const mediaTypeOfLink = (url: string): MediaType | undefined => {
  const ending = endingForm.exec(URL.parse(url)?.pathname ?? "")?.[1]?.toLowerCase()
  if (ending === undefined) return undefined
  if (shownEndings.has(ending)) return "image"
  return fileEndings.has(ending) ? "file" : undefined
}

const imageMimeTypes: ReadonlySet<string> = new Set([
  "image/jpeg",
  "image/png",
  "image/webp",
  "image/gif",
])

// Requires a name before the dot: "/.png" is a hidden file without an extension.
const endingForm = /[^/.][^/]*\.([a-z0-9]{1,5})$/i

const shownEndings: ReadonlySet<string> = new Set(["jpg", "jpeg", "png", "webp", "gif"])

// Extensions that servers use for static files of that kind.
const fileEndings: ReadonlySet<string> = new Set(
  `pdf epub txt csv rtf md json xml ics vcf
  doc docx xls xlsx ppt pptx odt ods odp
  zip rar 7z tar gz bz2 xz apk
  mp3 m4a aac ogg opus wav flac amr
  mp4 m4v mov avi mkv webm 3gp
  svg bmp tif tiff heic heif avif psd`.split(/\s+/),
)

/** Endings of formats that are known, web pages aside. */
const promisingEndings: ReadonlySet<string> = new Set([
  ...Object.entries({ ...toldByEnding, ...toldByBytes, ...containers })
    .filter(([mimeType]) => mimeType !== "text/html" && mimeType !== "application/xhtml+xml")
    .flatMap(([, endings]) => listed(endings)),
  ...shownEndings,
  ...fileEndings,
])

/** Whether the ending of the link, the type or the name of a send says that its file is not a web page. */
export const promisesOtherThanWebPage = ({
  fileName,
  type,
  url,
}: Pick<MediaReference, "type" | "fileName"> & { readonly url: string }): boolean =>
  type === "image" ||
  [fileNameOfUrl(url), fileName ?? ""].some((name) => promisingEndings.has(fileExtension(name)))

/** How much of a file shows that it is a web page. */
export const webPageBytes = 4096

const webPageForm =
  /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^]*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b/i

/**
 * Whether a file is a web page, by its server's word or by its beginning.
 */
export const isWebPage = (
  contentType: string | undefined,
  sniffed: string,
  beginning: string,
): boolean => {
  if (/^\s*text\/html\b/i.test(contentType ?? "")) return true
  return (sniffed === unknownMimeType || sniffed === anyXml) && webPageForm.test(beginning)
}

/** A message's media; exactly one of `mediaId`, `attachmentId` and `url` is set. */
export interface MediaReference {
  readonly mediaId: MediaId | null
  /** A file that belongs to this send alone (contract: Version 1: sends). */
  readonly attachmentId: MediaId | null
  readonly url: string | null
  /** Null when neither request nor URL extension tells: decided at send time. */
  readonly type: MediaType | null
  readonly fileName: string | null
  /** Whether its stored file is gone: looked up for answers, never stored. */
  readonly isMissing?: boolean
}

/** Receivers cannot use longer links; they are refused as `invalid_media_url`. */
const maximumUrlLength = 2048

/** `media` in a request: exactly one of `url` and `mediaId` (contract: Media reference). */
export const MediaInput = Schema.Struct({
  url: described(
    Schema.optionalKey(Schema.String),
    `Public http or https link of at most ${maximumUrlLength} characters; fetched when the message is sent.`,
  ),
  mediaId: described(Schema.optionalKey(Schema.Int), "Id of an uploaded file."),
  type: described(
    Schema.optionalKey(Schema.Literals(mediaTypes)),
    "Type of the linked content, used only when the link itself names none.",
  ),
  fileName: described(
    Schema.optionalKey(nameUpTo(255)),
    "Name that the recipient sees, for files. Cleaned as the name of an upload is: the last part of a path, without control characters.",
  ),
})
  .check(
    Schema.makeFilter(
      (media) =>
        (media.url === undefined) !== (media.mediaId === undefined)
          ? undefined
          : "must name either a link or a file of the media directory",
      { toJsonSchema: () => ({ oneOf: [{ required: ["url"] }, { required: ["mediaId"] }] }) },
    ),
  )
  .annotate({
    identifier: "MediaReference",
    description: "An image or a file: a link, or a file of the media directory.",
  })

/** Problems of a media link's text; what it resolves to is checked later. */
export const mediaUrlProblems = (
  media: unknown,
  rule: OutboundRule,
): ReadonlyArray<Problem<"invalid_media_url">> => {
  if (typeof media !== "object" || media === null || !Object.hasOwn(media, "url")) return []
  const url = (media as { readonly url: unknown }).url
  if (typeof url !== "string") return []
  if (url.length > maximumUrlLength) return [problem("invalid_media_url", "media.url")]
  const parsed = parseOutboundUrl(url, { allowHttp: true, allowPrivate: rule.allowPrivate })
  return Result.isSuccess(parsed)
    ? []
    : [problem("invalid_media_url", "media.url", outboundUrlMessage(url, parsed.failure))]
}

export interface MediaFile {
  readonly id: MediaId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly fileName: string
  readonly type: MediaType
  readonly mimeType: string
  readonly size: number
  /** The key in `MediaFiles`. */
  readonly storageKey: string
  readonly createdAt: number
}

export type Reservation =
  | { readonly _tag: "Reserved"; readonly id: MediaId }
  /** No room is left for it on top of `used`. */
  | { readonly _tag: "Full"; readonly used: number }

/** The precondition that failed; nothing was written. */
export type BrokenMediaGuard = "idempotency" | "reservation"

interface AttachmentSweep {
  readonly now: number
  /** Deletes attachments unused since this time or longer. */
  readonly unusedSince: number
}

/** A file to delete; its bytes may still exist. */
export type Leftover = Pick<MediaFile, "id" | "storageKey">

interface LeftoverQuery {
  /** Older reservations are given up: their process died. */
  readonly reservedBefore: number
  readonly limit: number
}

/**
 * Stores file records. A file's room is reserved while its bytes are written; it exists from commit
 * to deletion, and its record lasts until the bytes are gone. So no bytes go unrecorded, and every
 * listed file has its bytes.
 *
 * An attachment belongs to one send: it is in no directory, and its storage has a separate limit.
 * Its record precedes its bytes, and only its send knows it.
 */
export interface MediaStore {
  /**
   * Reserves room. Guard: the workspace's use in both modes, reservations included, plus this
   * file is at most `limitBytes`.
   */
  reserve(
    file: Omit<MediaFile, "id">,
    limitBytes: number,
  ): Effect.Effect<Reservation, StoreUnavailable>
  /**
   * Adds a reserved file to the directory and finishes the idempotency record. Guards, in order:
   * the claim is held (`idempotency`), the reservation exists (`reservation`). Null on success,
   * else the failed guard.
   */
  commit(
    id: MediaId,
    idempotency: IdempotencyClaim | null,
    now: number,
  ): Effect.Effect<BrokenMediaGuard | null, StoreUnavailable>
  /** Cancels a reservation: its room is free, and its bytes become leftovers. */
  discard(id: MediaId): Effect.Effect<void, StoreUnavailable>
  /** Null when it is not in the directory, or is of another workspace or mode. */
  get(
    workspaceId: WorkspaceId,
    mode: Mode,
    id: MediaId,
  ): Effect.Effect<MediaFile | null, StoreUnavailable>
  /** Newest first. */
  list(
    workspaceId: WorkspaceId,
    mode: Mode,
    type: MediaType | null,
    page: PageQuery,
  ): Effect.Effect<PageOf<MediaFile>, StoreUnavailable>
  /**
   * In any workspace and mode, attachments included. Finds deleted files while their record
   * lasts, but not uncommitted ones.
   */
  find(
    id: MediaId,
  ): Effect.Effect<{ readonly file: MediaFile; readonly deleted: boolean } | null, StoreUnavailable>
  /**
   * Which of the files do not exist (any more): neither in a directory nor attached to a message.
   */
  missing(ids: ReadonlyArray<MediaId>): Effect.Effect<ReadonlySet<MediaId>, StoreUnavailable>
  /** Deletes a file: its room is free, and its bytes become leftovers. */
  delete(
    workspaceId: WorkspaceId,
    mode: Mode,
    id: MediaId,
  ): Effect.Effect<MediaFile | null, StoreUnavailable>
  /**
   * Records a send's file. Guard: the workspace's existing attachments in both modes plus this
   * one are at most `limitBytes`.
   */
  attach(
    file: Omit<MediaFile, "id">,
    limitBytes: number,
  ): Effect.Effect<Reservation, StoreUnavailable>
  /**
   * Discards an attachment that no message has; false if one does. Its bytes become leftovers.
   */
  detach(id: MediaId): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Checks all attachments. One that no waiting message uses is unused, from `now` unless
   * earlier. Those unused for long enough, and those of deleted workspaces, are deleted; their
   * bytes become leftovers.
   */
  sweepAttachments(sweep: AttachmentSweep): Effect.Effect<void, StoreUnavailable>
  /**
   * Files with bytes to delete, after discarding old reservations and deleting files of
   * deleted workspaces.
   */
  leftovers(query: LeftoverQuery): Effect.Effect<ReadonlyArray<Leftover>, StoreUnavailable>
  /** Records that their bytes are gone. */
  removed(ids: ReadonlyArray<MediaId>): Effect.Effect<void, StoreUnavailable>
  /** Deletes records of older, deleted files without bytes. */
  forget(createdBefore: number): Effect.Effect<void, StoreUnavailable>
}

/** The record of a file to store: its owner, and what content and name tell. */
export const newMediaFile = (
  { mode, workspaceId }: Pick<Sender, "workspaceId" | "mode">,
  { mimeType: sniffed, size, storageKey }: Pick<SpooledContent, "mimeType" | "size" | "storageKey">,
  fileName: string,
  createdAt: number,
): Omit<MediaFile, "id"> => {
  const mimeType = toMimeType(sniffed, fileName)
  const type = toMediaType(mimeType)
  return { workspaceId, mode, fileName, type, mimeType, size, storageKey, createdAt }
}

/** Deletes a file's bytes once its record ends; the sweep retries failures. */
export const removeBytes =
  (store: MediaStore, files: typeof MediaFiles.Service) =>
  ({ id, storageKey }: Leftover): Effect.Effect<void> =>
    Effect.andThen(files.remove(storageKey), store.removed([id])).pipe(
      Effect.catch((error) => Effect.logWarning("a media file is removed later", error)),
    )

// File life cycle: the states of a record, the room it takes, and when the sweep ends it.

/**
 * A directory file is `reserved` while its bytes are written, then `kept`; a message's file is
 * `attached`, that of a received one `received`. All end as `deleted`. `discarded` ones were given up before
 * they entered the directory or a message had them.
 */
export const fileStates = [
  "reserved",
  "kept",
  "attached",
  "received",
  "deleted",
  "discarded",
] as const

export type FileState = (typeof fileStates)[number]

/** Whether the file ended: it may have leftover bytes. */
export const isFileEnded = (state: FileState): boolean =>
  state === "deleted" || state === "discarded"

/** Which limit a file counts against; null for none. */
export const reservedSpace = (
  state: FileState,
): "directory" | "attachments" | "received" | null => {
  if (isFileEnded(state)) return null
  if (state === "received") return "received"
  return state === "attached" ? "attachments" : "directory"
}

export const fitsRoom = (used: number, size: number, limitBytes: number): boolean =>
  used + size <= limitBytes

/** The id of the stored file in a reference; null for none. */
export const storedFileId = (media: MediaReference | null): MediaId | null =>
  media === null ? null : (media.mediaId ?? media.attachmentId)

/** Whether files in that state are readable. */
export const isFileThere = (state: FileState): boolean => state === "kept" || state === "attached"

/** What the attachment sweep decides by. */
export interface AttachmentStanding {
  /** Since when no message waits for it, as far as sweeps have seen. */
  readonly unusedSince: number | null
  readonly isUsed: boolean
  readonly isOfDeleted: boolean
}

/** Since when an attachment is unused, after a sweep at `now`. */
export const unusedSinceAfter = (
  { isUsed, unusedSince }: Pick<AttachmentStanding, "unusedSince" | "isUsed">,
  now: number,
): number | null => (isUsed ? null : (unusedSince ?? now))

/** Whether a sweep deletes an attachment: it has been unused since `unusedBy` or longer. */
export const isUnneeded = (
  { isOfDeleted, isUsed, unusedSince }: AttachmentStanding,
  unusedBy: number,
): boolean => isOfDeleted || (!isUsed && unusedSince !== null && unusedSince <= unusedBy)

/**
 * How the sweep ends a directory file, if it does: reservations older than `reservedBefore` are
 * discarded, as are files of deleted workspaces.
 */
export const sweptTo = (
  {
    createdAt,
    isOfDeleted,
    state,
  }: Pick<MediaFile, "createdAt"> & {
    readonly state: FileState
    readonly isOfDeleted: boolean
  },
  reservedBefore: number,
): Extract<FileState, "deleted" | "discarded"> | null => {
  if (state === "reserved" && createdAt < reservedBefore) return "discarded"
  return state === "kept" && isOfDeleted ? "deleted" : null
}

// File names, cleaned from what clients put into forms or servers into answers.

/** In code points. */
const maximumFileNameLength = 255

/** The last path segment, without control characters and outer white space; may be empty. */
const fileNameIn = (text: string): string => {
  const wellFormed = text.toWellFormed()
  const last = wellFormed.slice(
    Math.max(wellFormed.lastIndexOf("/"), wellFormed.lastIndexOf("\\")) + 1,
  )
  return last.replaceAll(/\p{Cc}/gu, "").trim()
}

/** Shortens a long name before its extension. */
export const shortenedFileName = (name: string): string => {
  if (codePointLength(name) <= maximumFileNameLength) return name
  const characters = Array.from(name)
  const ending = fileExtension(name)
  const suffix = ending === "" ? [] : characters.slice(-(ending.length + 1))
  return [...characters.slice(0, maximumFileNameLength - suffix.length), ...suffix].join("")
}

/**
 * Cleans a name that a client gives. Some escape quotation marks with a backslash, old ones send
 * Windows paths. Null when nothing is left: that counts as not given.
 */
export const givenFileName = (text: string): string | null =>
  fileNameIn(text.replaceAll('\\"', '"')) || null

/** Cleans and shortens the name that a received message gives its file. Null when nothing is left. */
export const receivedFileName = (text: string): string | null => {
  const name = givenFileName(text)
  return name === null ? null : shortenedFileName(name)
}

/** Cleans an uploaded name. Undefined when nothing is left or it is too long. */
export const uploadedFileName = (text: string): string | undefined => {
  const name = givenFileName(text) ?? ""
  return name !== "" && codePointLength(name) <= maximumFileNameLength ? name : undefined
}

/**
 * The name of a fetched file if the send gives none, from `Content-Disposition`, the answering URL
 * or the link (contract: Media links). Servers write these in many ways; none is trusted. Empty
 * when nothing names it.
 */
export const fetchedFileName = (
  { headers, url }: Pick<EgressAnswer, "headers" | "url">,
  link: string,
): string => {
  const disposition = headers["content-disposition"]
  return (
    (disposition === undefined ? "" : named(fileNameOfDisposition(disposition))) ||
    fileNameOfUrl(url) ||
    fileNameOfUrl(link)
  )
}

/** The last segment of a URL's path, as a file name; empty for none. */
const fileNameOfUrl = (text: string): string => {
  const path = URL.parse(text)?.pathname ?? ""
  return named(percentDecoded(path.slice(path.lastIndexOf("/") + 1)))
}

/** Makes any text a file name: one path segment of limited length. */
const named = (text: string): string => {
  const name = fileNameIn(text)
  return /^\.{0,2}$/.test(name) ? "" : shortenedFileName(name)
}

/** Parameters, the value quoted or up to the next semicolon. */
const parameterForm = /(?:^|;)\s*([\w!#$&'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/gs

/** `filename*` (RFC 8187) wins over `filename`; the first of each counts. Empty for none. */
const fileNameOfDisposition = (header: string): string => {
  const values = new Map<string, string>()
  for (const [, name = "", value = ""] of header.matchAll(parameterForm)) {
    const known = name.toLowerCase()
    if (!values.has(known)) values.set(known, unquoted(value))
  }
  const plain = values.get("filename") ?? ""
  return extendedValue(values.get("filename*") ?? "") || percentDecoded(asUtf8(plain))
}

const unquoted = (value: string): string =>
  value
    .trim()
    .replace(/^"/, "")
    .replace(/"$/, "")
    .replaceAll(/\\(["\\])/g, "$1")

/** `UTF-8'en'a%20name`; empty if unreadable. */
const extendedValue = (value: string): string => {
  const [, charset = "", encoded = ""] = /^([\w-]+)'[\w-]*'(.*)$/s.exec(value) ?? []
  switch (charset.toLowerCase()) {
    case "utf-8":
      return Result.getOrElse(
        Result.try(() => decodeURIComponent(encoded)),
        () => "",
      )
    case "iso-8859-1":
      return encoded.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
    default:
      return ""
  }
}

/** Decodes a fully percent-encoded text; a lone `%` leaves it unchanged. */
const percentDecoded = (text: string): string =>
  Result.getOrElse(
    Result.try(() => decodeURIComponent(text)),
    () => text,
  )

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Header bytes come as Latin-1; servers that do not escape them mostly mean UTF-8. */
const asUtf8 = (text: string): string => {
  if (/[^\0-\xff]/.test(text)) return text
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
  return Result.getOrElse(
    Result.try(() => utf8.decode(bytes)),
    () => text,
  )
}

/** Marks messages if their stored file is gone, so that none shows a link to it. */
export const markMissingFiles =
  (store: MediaStore) =>
  <M extends { readonly media: MediaReference | null }>(
    messages: ReadonlyArray<M>,
  ): Effect.Effect<ReadonlyArray<M>, StoreUnavailable> => {
    const ids = new Set(messages.flatMap(({ media }) => storedFileId(media) ?? []))
    if (ids.size === 0) return Effect.succeed(messages)
    return Effect.map(store.missing([...ids]), (missing) =>
      missing.size === 0
        ? messages
        : messages.map((message) => {
            const id = storedFileId(message.media)
            return id === null || message.media === null || !missing.has(id)
              ? message
              : { ...message, media: { ...message.media, isMissing: true } }
          }),
    )
  }

// Signed links to stored files: each works without a key for 26 hours (contract: Stored files). It
// carries file, name and expiry itself; nothing is stored.

/** How long a link works, from the answer or event that shows it. */
export const linkLifetimeMillis = 26 * 60 * 60 * 1000

/** Makes a link to a stored file that works for 26 hours from `now`. The default name is `file`. */
export type MediaLink = (id: MediaId, fileName: string | null, now: number) => string

interface LinkedFile {
  readonly id: MediaId
  /** As the link's last segment shows it. */
  readonly fileName: string
}

/** A name as one path segment that no client splits or resolves. */
const linkName = (fileName: string): string => {
  const name = fileName.toWellFormed().replaceAll(/[/\\\p{Cc}]/gu, "_")
  return /^\.{0,2}$/.test(name) ? "file" : name
}

/**
 * How tokens of stored files and of received messages' files begin. That of a received one names the message:
 * its link is there before its file is.
 */
const tokenPrefixes = { stored: "", received: "received-" } as const

type LinkKind = keyof typeof tokenPrefixes

const makeToken = (
  secret: string,
  kind: LinkKind,
  id: number,
  expires: number,
  name: string,
): string => {
  const signed = [...(kind === "stored" ? [] : [kind]), id, expires, name]
  return `${tokenPrefixes[kind]}${id.toString(36)}-${expires.toString(36)}-${sign(secret, signed)}`
}

const makePath = (
  secret: string,
  kind: LinkKind,
  id: number,
  fileName: string | null,
  expires: number,
): string => {
  const name = linkName(fileName ?? "")
  return `/media/${makeToken(secret, kind, id, expires, name)}/${encodeURIComponent(name)}`
}

const decodeSegment = (segment: string): string | undefined =>
  Result.getOrUndefined(Result.try(() => decodeURIComponent(segment)))

const readPath = (
  secret: string,
  kind: LinkKind,
  token: string,
  segment: string,
  now: number,
): { readonly id: number; readonly fileName: string } | undefined => {
  const prefix = tokenPrefixes[kind]
  if (!token.startsWith(prefix)) return undefined
  const parts = token.slice(prefix.length).split("-")
  const [id, expires] = parts.map((part) => Number.parseInt(part, 36))
  const fileName = decodeSegment(segment)
  if (!Number.isSafeInteger(id) || !Number.isSafeInteger(expires)) return undefined
  if (id === undefined || expires === undefined || fileName === undefined) return undefined
  if (!sameSecret(token, makeToken(secret, kind, id, expires, fileName))) return undefined
  return expires * 1000 > now ? { id, fileName } : undefined
}

/** In epoch seconds. */
const toExpiry = (now: number): number => Math.ceil((now + linkLifetimeMillis) / 1000)

/** Makes a link to the file of a received message, as `MediaLink` to a stored one. */
export type ReceivedFileLink = (
  id: ReceivedMessageId,
  fileName: string | null,
  now: number,
) => string

interface LinkedReceivedFile {
  readonly received: ReceivedMessageId
  readonly fileName: string
}

/** The path of a link that works until `expires`, in epoch seconds. */
export const makeLinkPath = (
  secret: string,
  id: MediaId,
  fileName: string | null,
  expires: number,
): string => makePath(secret, "stored", id, fileName, expires)

/** The file for the two path segments after `/media` at `now`; undefined when forged or expired. */
export const readLinkPath = (
  secret: string,
  token: string,
  segment: string,
  now: number,
): LinkedFile | undefined => {
  const found = readPath(secret, "stored", token, segment, now)
  return found && { ...found, id: found.id as MediaId }
}

const readReceivedLinkPath = (
  secret: string,
  token: string,
  segment: string,
  now: number,
): LinkedReceivedFile | undefined => {
  const found = readPath(secret, "received", token, segment, now)
  return found && { received: found.id as ReceivedMessageId, fileName: found.fileName }
}

export class MediaLinks extends Context.Service<
  MediaLinks,
  {
    readonly link: MediaLink
    /** Makes links to files of received messages. */
    readonly receivedLink: ReceivedFileLink
    /** See `readLinkPath`. */
    read(token: string, segment: string, now: number): LinkedFile | LinkedReceivedFile | undefined
  }
>()("core/MediaLinks") {
  static readonly layer: Layer.Layer<MediaLinks, never, Secrets> = Layer.effect(
    MediaLinks,
    Effect.gen(function* make() {
      const origin = yield* PublicUrl
      const secret = (yield* Secrets).keys.mediaLinks
      return MediaLinks.of({
        link: lastRemembered(
          (id, fileName, expires) => `${origin}${makeLinkPath(secret, id, fileName, expires)}`,
        ),
        receivedLink: (id, fileName, now) =>
          `${origin}${makePath(secret, "received", id, fileName, toExpiry(now))}`,
        read: (token, segment, now) =>
          readReceivedLinkPath(secret, token, segment, now) ??
          readLinkPath(secret, token, segment, now),
      })
    }),
  )
}

/** A batch shows one file a thousand times: make its link once. */
const lastRemembered = (
  make: (id: MediaId, fileName: string | null, expires: number) => string,
): MediaLink => {
  let last: { readonly of: string; readonly link: string } | undefined
  return (id, fileName, now) => {
    const expires = toExpiry(now)
    const of = JSON.stringify([id, expires, fileName])
    if (last?.of !== of) last = { of, link: make(id, fileName, expires) }
    return last.link
  }
}
