/**
 * Images and files: how a request refers to one, the record of a file, and the port that keeps these
 * records.
 */
import { Context, Data, Effect, Layer, Result, Schema } from "effect"
import type { Scope, Stream } from "effect"
import { outboundUrlMessage, parseOutboundUrl } from "../egress/Egress.ts"
import type { EgressAnswer, OutboundRule } from "../egress/Egress.ts"
import { problem, refuse, StoreUnavailable } from "../error/Refusal.ts"
import type { Problem, Refusal } from "../error/Refusal.ts"
import type { MediaId, WorkspaceId } from "../Ids.ts"
import type { Sender } from "../key/Auth.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import { codePointLength, described, IdJson, nameUpTo, PublicUrl } from "../request/Input.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"
import { sameSecret, Secrets, signatureOf } from "../secret/Secrets.ts"
import type { Mode } from "../workspace/Workspace.ts"

// The port that keeps the bytes of media files, by an opaque storage key.

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

/** The disk is a store too: its failures are faults of the service, not of the request. */
export const filesUnavailable =
  (operation: string) =>
  (cause: MediaFilesError): StoreUnavailable =>
    new StoreUnavailable({ operation, cause })

/** The type of a content that could not be told. */
export const unknownMimeType = "application/octet-stream"

/** A file whose content can be read more than once. */
export interface StoredContent {
  /** Bytes. */
  readonly size: number
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256: string
  /** Found from the content's first bytes; `unknownMimeType` when they tell nothing. */
  readonly mimeType: string
  readonly content: Stream.Stream<Uint8Array, MediaFilesError>
  /** The bytes from the one at `start` up to, not including, the one at `end`. */
  part(start: number, end: number): Stream.Stream<Uint8Array, MediaFilesError>
}

/** Content that is removed when its scope closes, unless it is kept. */
export interface SpooledContent extends StoredContent {
  /** The key under which it can be kept. */
  readonly storageKey: string
  /**
   * Stores it under its key, whole or not at all. Once, while its scope is open; from then on it is
   * read by opening it.
   */
  readonly keep: Effect.Effect<void, MediaFilesError>
}

export class MediaFiles
  extends /*#__PURE__*/ Context.Service<
    MediaFiles,
    {
      /** Whether contents can be kept: not in a process without a disk, which lets links pass alone. */
      readonly keeps: boolean
      /** Opens a stored file; fails with `not_found` only where it is known that there is none. */
      open(storageKey: string): Effect.Effect<StoredContent, MediaFilesError>
      /**
       * Spools a stream into a temporary file that goes with the scope, never holding it in memory
       * whole; fails with `too_large` past `maximumBytes`, and with `full`.
       */
      spool<E>(
        content: Stream.Stream<Uint8Array, E>,
        maximumBytes: number,
      ): Effect.Effect<SpooledContent, MediaFilesError | E, Scope.Scope>
      /** Fails with `full` while the disk has less free than its reserve, so that nothing is spooled. */
      readonly room: Effect.Effect<void, MediaFilesError>
      /** Succeeds too when there is nothing under that key. */
      remove(storageKey: string): Effect.Effect<void, MediaFilesError>
      /** Fails when nothing more can be written, whatever it is. */
      readonly ready: Effect.Effect<void, MediaFilesError>
      /** Removes what killed processes have spooled and left behind. */
      readonly removeAbandoned: Effect.Effect<void, MediaFilesError>
    }
  >()("core/MediaFiles") {}

/** The refusal of a file for which the disk has no room, whatever the plan's storage has left. */
export const noRoomForFile = /*#__PURE__*/ refuse("service_unavailable", {
  message:
    "The service has no room for files at present. Retry after the seconds of `Retry-After`.",
  retryAfter: 60,
})

/** The refusal of a file, on `field`, by a process that cannot keep it; undefined where it can. */
export const refuseUnkept = (
  { keeps }: Pick<typeof MediaFiles.Service, "keeps">,
  field: string,
): Refusal | undefined =>
  keeps
    ? undefined
    : refuse("validation_failed", {
        field,
        message:
          "A file needs a disk (dataDirectory), which this process does not have: use one that has it, or send a link by version 2.",
      })

// What a content is, and which endings fit it. The first bytes decide; where a format has none that
// tell it apart, the ending of the file's name does, and only then: a text named `.png` is still not a
// picture (contract: Media).
// An SVG is such text, and scripts may stand in it. Its MIME type is told, but to every transport and
// in the media directory it is a file, and it is served as no picture. The transports show four kinds
// of picture; every other one (SVG, TIFF, HEIC …) arrives as a file, so that nothing fails for its
// format.

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
const endingOf = (fileName: string): string =>
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

/** What a message carries; exactly one of `mediaId`, `attachmentId` and `url` is set. */
export interface MediaReference {
  readonly mediaId: MediaId | null
  /** A file that came with the send and belongs to it alone (contract: Version 1: sends). */
  readonly attachmentId: MediaId | null
  readonly url: string | null
  /** Null when neither the request nor the link's ending tells: settled at send time. */
  readonly type: MediaType | null
  readonly fileName: string | null
  /** Whether its stored file is gone: looked up for what is shown, never kept. */
  readonly isMissing?: boolean
}

/** `media` of a message or a reminder, as answers show it: each field null when it is unknown. */
export const MediaReferenceJson = Schema.Struct({
  media_id: Schema.NullOr(IdJson),
  url: described(
    Schema.NullOr(Schema.String),
    "Of a stored file: works for 26 hours; null once the file is gone.",
  ),
  type: Schema.NullOr(Schema.Literals(mediaTypes)),
  file_name: Schema.NullOr(Schema.String),
}).annotate({ identifier: "Media" })

/** Longer links are no use to any receiver and are refused as `invalid_media_url`. */
const maximumUrlLength = 2048

/** `media` in a request: exactly one of `url` and `media_id` (contract: Media reference). */
export const MediaInput = Schema.Struct({
  url: described(
    Schema.optionalKey(Schema.String),
    `Public http or https link of at most ${maximumUrlLength} characters; fetched when the message is sent.`,
  ),
  media_id: described(Schema.optionalKey(Schema.Int), "Id of a file in the media directory."),
  type: described(
    Schema.optionalKey(Schema.Literals(mediaTypes)),
    "Used when the link does not reveal the kind.",
  ),
  file_name: described(Schema.optionalKey(nameUpTo(255)), "For files."),
})
  .check(
    Schema.makeFilter(
      (media) =>
        (media.url === undefined) !== (media.media_id === undefined)
          ? undefined
          : "must have exactly one of url and media_id",
      { toJsonSchema: () => ({ oneOf: [{ required: ["url"] }, { required: ["media_id"] }] }) },
    ),
  )
  .annotate({
    identifier: "MediaReference",
    description: "An image or a file: exactly one of `url` and `media_id`.",
  })

/** The problem of a media link by its text alone, if any; what it resolves to is checked later. */
export const mediaUrlProblems = (media: unknown, rule: OutboundRule): ReadonlyArray<Problem> => {
  if (typeof media !== "object" || media === null || !Object.hasOwn(media, "url")) return []
  const url = (media as { readonly url: unknown }).url
  if (typeof url !== "string") return []
  if (url.length > maximumUrlLength) return [problem("invalid_media_url", "media.url")]
  const parsed = parseOutboundUrl(url, { allowHttp: true, allowPrivate: rule.allowPrivate })
  return Result.isSuccess(parsed)
    ? []
    : [problem("invalid_media_url", "media.url", outboundUrlMessage(url, parsed.failure))]
}

/** A file of the media directory. */
export interface MediaFile {
  readonly id: MediaId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly fileName: string
  readonly type: MediaType
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /** Where `MediaFiles` keeps the content. */
  readonly storageKey: string
  readonly createdAt: number
}

export type Reservation =
  | { readonly _tag: "Reserved"; readonly id: MediaId }
  /** There is no room for it beside the bytes that are used. */
  | { readonly _tag: "Full"; readonly used: number }

/** Which precondition of a file's commit no longer held; nothing was written. */
export type BrokenMediaGuard = "idempotency" | "reservation"

interface AttachmentSweep {
  readonly now: number
  /** Attachments that have been unused since this moment or longer are deleted. */
  readonly unusedSince: number
}

/** A file whose bytes have no use any more and may still be there. */
export type Leftover = Pick<MediaFile, "id" | "storageKey">

interface LeftoverQuery {
  /** A reservation that was made before this was given up, or its process died. */
  readonly reservedBefore: number
  readonly limit: number
}

/**
 * A file of the directory is there from its commit to its deletion. Before, its room is reserved while its
 * bytes are put in their place; afterwards it is remembered until they are gone. So bytes without a
 * record never stay unnoticed, and a file that is in the directory always has its bytes.
 *
 * An attachment belongs to one send: it is in no directory and takes none of its room, but has a
 * bound of its own. Its record comes before
 * its bytes and is known to its send alone.
 */
export class MediaStore extends Context.Service<
  MediaStore,
  {
    /**
     * Takes room for a file. Guard: what the workspace uses in both modes, reservations included,
     * and the file's size are together not more than `limitBytes`.
     */
    reserve(
      file: Omit<MediaFile, "id">,
      limitBytes: number,
    ): Effect.Effect<Reservation, StoreUnavailable>
    /**
     * Puts a reserved file into the directory and finishes the idempotency record. Guards, in this
     * order: the claim is still held (`idempotency`), the reservation is still there
     * (`reservation`). Null when both held, else the one that did not.
     */
    commit(
      id: MediaId,
      idempotency: IdempotencyClaim | null,
      now: number,
    ): Effect.Effect<BrokenMediaGuard | null, StoreUnavailable>
    /** Gives a reservation up: its room is free again, and what there is of its bytes is left over. */
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
     * Whatever its workspace and mode, attachments too. A deleted file is found as long as it is
     * remembered; one that was never committed is not.
     */
    find(
      id: MediaId,
    ): Effect.Effect<
      { readonly file: MediaFile; readonly deleted: boolean } | null,
      StoreUnavailable
    >
    /** Those of the files that are not there (any more): in no directory, and attached to no message. */
    missing(ids: ReadonlyArray<MediaId>): Effect.Effect<ReadonlySet<MediaId>, StoreUnavailable>
    /** Takes a file out of the directory: its room is free again, its bytes are left over. */
    delete(
      workspaceId: WorkspaceId,
      mode: Mode,
      id: MediaId,
    ): Effect.Effect<MediaFile | null, StoreUnavailable>
    /**
     * Records a file that belongs to a send. Guard: what the workspace's attachments take in both
     * modes, given up and deleted ones aside, and the file's size are together not more than
     * `limitBytes`.
     */
    attach(
      file: Omit<MediaFile, "id">,
      limitBytes: number,
    ): Effect.Effect<Reservation, StoreUnavailable>
    /**
     * Gives an attachment up that no message has, whatever its state. Returns whether it did: then
     * what there is of its bytes is left over.
     */
    detach(id: MediaId): Effect.Effect<boolean, StoreUnavailable>
    /**
     * Looks at all attachments. One that no waiting message has is unused, since `now` if it was not
     * before; those that have been for long enough are deleted, and so are those of deleted
     * workspaces. Their bytes are left over.
     */
    sweepAttachments(sweep: AttachmentSweep): Effect.Effect<void, StoreUnavailable>
    /**
     * Files whose bytes are left over, after it has given up old reservations and deleted the files
     * of deleted workspaces.
     */
    leftovers(query: LeftoverQuery): Effect.Effect<ReadonlyArray<Leftover>, StoreUnavailable>
    /** Their bytes are gone. */
    removed(ids: ReadonlyArray<MediaId>): Effect.Effect<void, StoreUnavailable>
    /** Drops what is remembered of files that were made before, are deleted and have no bytes. */
    forget(createdBefore: number): Effect.Effect<void, StoreUnavailable>
  }
>()("core/MediaStore") {}

/** The record of a file that is about to be kept: whose it is, and what its content and name tell. */
export const newMediaFile = (
  { mode, workspaceId }: Pick<Sender, "workspaceId" | "mode">,
  { mimeType: sniffed, size, storageKey }: Pick<SpooledContent, "mimeType" | "size" | "storageKey">,
  fileName: string,
  createdAt: number,
): Omit<MediaFile, "id"> => {
  const mimeType = mimeTypeOf(sniffed, fileName)
  const type = mediaTypeOf(mimeType)
  return { workspaceId, mode, fileName, type, mimeType, size, storageKey, createdAt }
}

/**
 * Removes the bytes of a file at once when its record ends; what cannot be removed now is found again
 * by the sweep.
 */
export const removeBytes =
  (store: typeof MediaStore.Service, files: typeof MediaFiles.Service) =>
  ({ id, storageKey }: Leftover): Effect.Effect<void> =>
    Effect.andThen(files.remove(storageKey), store.removed([id])).pipe(
      Effect.catch((error) => Effect.logWarning("a media file is removed later", error)),
    )

// What becomes of a media file: the states of its record, the room that it takes of its workspace's, and
// when the sweep ends it.

/**
 * A file of the directory is `reserved` until its bytes are in their place, then `kept`; one that belongs
 * to a message is `attached`. Both are `deleted` in the end, or `discarded` when they were given up
 * before they were in the directory, or before a message had them.
 */
export const fileStates = ["reserved", "kept", "attached", "deleted", "discarded"] as const

export type FileState = (typeof fileStates)[number]

/** Whether its time is over: there may be bytes of it, which are left over. */
export const isFileEnded = (state: FileState): boolean =>
  state === "deleted" || state === "discarded"

/** In which room a file in that state counts; each room has its own bound. Null: in neither. */
export const roomOf = (state: FileState): "directory" | "attachments" | null => {
  if (isFileEnded(state)) return null
  return state === "attached" ? "attachments" : "directory"
}

/** Whether a file has room beside the bytes that are used. */
export const fitsRoom = (used: number, size: number, limitBytes: number): boolean =>
  used + size <= limitBytes

/** The id of the stored file that a message refers to; null where it refers to none. */
export const storedFileOf = (media: MediaReference | null): MediaId | null =>
  media === null ? null : (media.mediaId ?? media.attachmentId)

/** Whether the files in that state can be read by those who refer to them. */
export const isFileThere = (state: FileState): boolean => state === "kept" || state === "attached"

/** What an attachment's sweep goes by. */
export interface AttachmentStanding {
  /** Since when no message waits for it, as far as sweeps have seen. */
  readonly unusedSince: number | null
  /** Whether a message waits for it. */
  readonly isUsed: boolean
  /** Whether its workspace was deleted. */
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
 * How the sweep ends a file of the directory, if it does: reservations that were made before
 * `reservedBefore` are given up, and the files of deleted workspaces go with them.
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

// The names of files: what clients write into a form, or servers into an answer, is not yet a name.

/** Code points. */
const maximumFileNameLength = 255

/** The last step of a path, without control characters and white space around it; may be empty. */
const fileNameIn = (given: string): string => {
  const path = given.toWellFormed()
  const last = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1)
  return last.replaceAll(/\p{Cc}/gu, "").trim()
}

/** A name that is too long loses what stands before its ending. */
export const shortenedFileName = (name: string): string => {
  if (codePointLength(name) <= maximumFileNameLength) return name
  const characters = Array.from(name)
  const ending = endingOf(name)
  const kept = ending === "" ? [] : characters.slice(-(ending.length + 1))
  return [...characters.slice(0, maximumFileNameLength - kept.length), ...kept].join("")
}

/**
 * The name in what a client gave as one. Some clients put a backslash before a quotation mark, old
 * ones send whole Windows paths. Undefined when nothing is left or too much.
 */
export const uploadedFileName = (given: string): string | undefined => {
  const name = fileNameIn(given.replaceAll('\\"', '"'))
  return name !== "" && codePointLength(name) <= maximumFileNameLength ? name : undefined
}

/**
 * The name of a fetched file, when the send gives none: what the answer's `Content-Disposition`
 * says, else the end of the path that answered, else the end of the link's own (contract: Media
 * links). Servers write both in many ways, and none of them is trusted to be a name. Empty when
 * nothing names it.
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

/** The last segment of a URL's path, as a file name; empty when it has none. */
const fileNameOfUrl = (text: string): string => {
  const path = URL.parse(text)?.pathname ?? ""
  return named(percentDecoded(path.slice(path.lastIndexOf("/") + 1)))
}

/** A text as the name of a file: one step of a path, as long as a name may be. */
const named = (text: string): string => {
  const name = fileNameIn(text)
  return /^\.{0,2}$/.test(name) ? "" : shortenedFileName(name)
}

/** Parameters, the value quoted or up to the next semicolon. */
const parameterForm = /(?:^|;)\s*([\w!#$&'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/gs

/** `filename*` (RFC 8187) wins over `filename`; the first of each counts. Empty when there is none. */
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

/** `UTF-8'en'a%20name`; empty when it cannot be read. */
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

/** What is percent-encoded as a whole is decoded; a lone `%` leaves a text as it is. */
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

// Stored files that are gone, so that no message shows a link to one.

/** Marks the messages whose stored file is gone, so that nothing shows a link to it. */
export const markMissingFiles =
  (store: typeof MediaStore.Service) =>
  <M extends { readonly media: MediaReference | null }>(
    messages: ReadonlyArray<M>,
  ): Effect.Effect<ReadonlyArray<M>, StoreUnavailable> => {
    const ids = new Set(messages.flatMap(({ media }) => storedFileOf(media) ?? []))
    if (ids.size === 0) return Effect.succeed(messages)
    return Effect.map(store.missing([...ids]), (missing) =>
      missing.size === 0
        ? messages
        : messages.map((message) => {
            const id = storedFileOf(message.media)
            return id === null || message.media === null || !missing.has(id)
              ? message
              : { ...message, media: { ...message.media, isMissing: true } }
          }),
    )
  }

// Signed links to stored files: every holder of one can read the file for 26 hours, without a key
// (contract: Stored files). A link says by itself which file it means, under which name and until
// when; nothing is kept for it.

/** How long a link works, from the answer or the event that shows it. */
export const linkKeptMillis = 26 * 60 * 60 * 1000

/** Makes a link to a stored file that works for 26 hours from `now`. Without a name it is `file`. */
export type MediaLink = (id: MediaId, fileName: string | null, now: number) => string

/** What a link leads to. */
interface LinkedFile {
  readonly id: MediaId
  /** As the link's last segment shows it. */
  readonly fileName: string
}

/** A name that is one segment of a path, which no client splits or takes for a step. */
const linkName = (fileName: string): string => {
  const name = fileName.toWellFormed().replaceAll(/[/\\\p{Cc}]/gu, "_")
  return /^\.{0,2}$/.test(name) ? "file" : name
}

const makeToken = (secret: string, id: MediaId, expires: number, name: string): string =>
  `${id.toString(36)}-${expires.toString(36)}-${signatureOf(secret, [id, expires, name])}`

/** The path of a link that works until `expires`, in epoch seconds. */
export const makeLinkPath = (
  secret: string,
  id: MediaId,
  fileName: string | null,
  expires: number,
): string => {
  const name = linkName(fileName ?? "")
  return `/media/${makeToken(secret, id, expires, name)}/${encodeURIComponent(name)}`
}

const decodeSegment = (segment: string): string | undefined =>
  Result.getOrUndefined(Result.try(() => decodeURIComponent(segment)))

/**
 * What the two segments of a link's path behind `/media` lead to at `now`; undefined when they were
 * not given out, or when their time is over.
 */
export const readLinkPath = (
  secret: string,
  token: string,
  segment: string,
  now: number,
): LinkedFile | undefined => {
  const [id, expires] = token.split("-").map((part) => Number.parseInt(part, 36))
  const fileName = decodeSegment(segment)
  if (!Number.isSafeInteger(id) || !Number.isSafeInteger(expires)) return undefined
  if (id === undefined || expires === undefined || fileName === undefined) return undefined
  if (!sameSecret(token, makeToken(secret, id as MediaId, expires, fileName))) return undefined
  return expires * 1000 > now ? { id: id as MediaId, fileName } : undefined
}

export class MediaLinks extends Context.Service<
  MediaLinks,
  {
    readonly link: MediaLink
    /** As `readLinkPath`. */
    read(token: string, segment: string, now: number): LinkedFile | undefined
  }
>()("core/MediaLinks") {
  static readonly layer: Layer.Layer<MediaLinks, never, Secrets> = Layer.effect(
    MediaLinks,
    Effect.gen(function* () {
      const origin = yield* PublicUrl
      const secret = (yield* Secrets).keys.mediaLinks
      return MediaLinks.of({
        link: lastRemembered(
          (id, fileName, expires) => `${origin}${makeLinkPath(secret, id, fileName, expires)}`,
        ),
        read: (token, segment, now) => readLinkPath(secret, token, segment, now),
      })
    }),
  )
}

/** A batch shows one file a thousand times: its link is made once. */
const lastRemembered = (
  make: (id: MediaId, fileName: string | null, expires: number) => string,
): MediaLink => {
  let last: { readonly of: string; readonly link: string } | undefined
  return (id, fileName, now) => {
    const expires = Math.ceil((now + linkKeptMillis) / 1000)
    const of = JSON.stringify([id, expires, fileName])
    if (last?.of !== of) last = { of, link: make(id, fileName, expires) }
    return last.link
  }
}
