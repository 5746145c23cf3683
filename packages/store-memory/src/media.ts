/** `MediaStore` in memory: the records; `MediaFiles` holds their content. */
import {
  fitsRoom,
  Ids,
  isFileEnded,
  isFileThere,
  isUnneeded,
  MediaFiles,
  MediaFilesError,
  reservedSpace,
  sweptTo,
  unknownMimeType,
  unusedSinceAfter,
} from "@messaging-service/core"
import type {
  FileState,
  MediaFile,
  MediaId,
  MediaStore,
  Mode,
  Reservation,
  StoredContent,
  WorkspaceId,
} from "@messaging-service/core"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { ByteSize, Effect, Layer, Stream } from "effect"
import { collectInSteps, newestFirst, visitInSteps } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { finishClaim, isLost, findWorkspace } from "./tables.ts"
import type { MediaRow, ReceivedFileRow, Tables, WorkspaceRow } from "./tables.ts"

const storedRow = (
  tables: Tables,
  workspaceId: WorkspaceId,
  mode: Mode,
  id: MediaId,
): MediaRow | undefined => {
  const row = tables.media.get(id)
  const isTheirs = row?.file.workspaceId === workspaceId && row.file.mode === mode
  return isTheirs && row.state === "kept" ? row : undefined
}

/** The file, if it is in that workspace's directory. */
export const storedFile = (
  tables: Tables,
  workspaceId: WorkspaceId,
  mode: Mode,
  id: MediaId,
): MediaFile | null => storedRow(tables, workspaceId, mode, id)?.file ?? null

/** Moves a file's size into or out of its workspace's storage count. */
const count = (owner: WorkspaceRow | undefined, state: FileState, bytes: number): void => {
  const room = reservedSpace(state)
  if (owner !== undefined && room !== null) owner.usedBytes[room] += bytes
}

/** Adds a file, if its workspace has room for it. */
export const takeRoom = (
  tables: Tables,
  file: Omit<MediaFile, "id">,
  limitBytes: number,
  state: "reserved" | "attached" | "received",
): Reservation | Effect.Effect<never> => {
  const owner = tables.workspaces.get(file.workspaceId)
  if (owner === undefined) return Effect.die(new Error("a media file needs a workspace"))
  const used = owner.usedBytes[reservedSpace(state) ?? "directory"]
  if (!fitsRoom(used, file.size, limitBytes)) return { _tag: "Full", used }
  const row = tables.media.insert((id): MediaRow => ({
    file: { ...file, id },
    state,
    unusedSince: null,
    hasBytes: true,
    forgotten: false,
  }))
  if (state === "reserved") owner.media.push(row)
  count(owner, state, file.size)
  return { _tag: "Reserved", id: row.file.id }
}

/** Ends a file's time; its storage is free again, its bytes are left over. */
const endFile = (tables: Tables, row: MediaRow, state: "deleted" | "discarded") => {
  count(tables.workspaces.get(row.file.workspaceId), row.state, -row.file.size)
  row.state = state
}

/** The bytes of its file, if there are any, are left over. */
export const discardStored = (
  tables: Tables,
  row: ReceivedFileRow,
  state: "deleted" | "discarded",
) => {
  const stored = row.mediaId === null ? undefined : tables.media.get(row.mediaId)
  if (stored !== undefined) endFile(tables, stored, state)
  row.mediaId = null
}

const endOld = (tables: Tables, row: MediaRow, reservedBefore: number) => {
  const { createdAt, workspaceId } = row.file
  const isOfDeleted = findWorkspace(tables, workspaceId) === undefined
  const state = sweptTo({ state: row.state, createdAt, isOfDeleted }, reservedBefore)
  if (state !== null) endFile(tables, row, state)
}

const sweepAttachment = (tables: Tables, row: MediaRow, now: number, unusedBy: number) => {
  const { id, workspaceId } = row.file
  const messages = tables.messagesByAttachment.get(id) ?? []
  const isUsed = messages.some(({ message }) => message.state === "waiting")
  const isOfDeleted = findWorkspace(tables, workspaceId) === undefined
  const standing = { unusedSince: row.unusedSince, isUsed, isOfDeleted }
  row.unusedSince = unusedSinceAfter(standing, now)
  if (isUnneeded(standing, unusedBy)) {
    endFile(tables, row, "deleted")
    tables.messagesByAttachment.delete(id)
  }
}

type MediaStoreSteps = Steps<MediaStore>

/** Uploaded files. */
const fileSteps = (
  tables: Tables,
): Pick<
  MediaStoreSteps,
  "reserve" | "commit" | "discard" | "get" | "list" | "find" | "missing" | "delete"
> => ({
  reserve: (file, limitBytes) => takeRoom(tables, file, limitBytes, "reserved"),

  commit: (id, idempotency) => {
    if (isLost(tables, idempotency)) return "idempotency"
    const row = tables.media.get(id)
    if (row?.state !== "reserved") return "reservation"
    row.state = "kept"
    finishClaim(tables, idempotency, [id])
    return null
  },

  discard: (id) => {
    const row = tables.media.get(id)
    if (row?.state === "reserved") endFile(tables, row, "discarded")
  },

  get: (workspaceId, mode, id) => storedFile(tables, workspaceId, mode, id),

  list: (workspaceId, mode, type, page) =>
    newestFirst(
      tables.workspaces.get(workspaceId)?.media ?? [],
      page,
      (row) => row.file,
      ({ file, state }) =>
        state === "kept" && file.mode === mode && (type === null || file.type === type),
    ),

  find: (id) => {
    const row = tables.media.get(id)
    if (row === undefined || row.forgotten) return null
    if (row.state === "reserved" || row.state === "discarded") return null
    return { file: row.file, deleted: row.state === "deleted" }
  },

  missing: (ids) =>
    new Set(
      ids.filter((id) => {
        const row = tables.media.get(id)
        return row === undefined || !isFileThere(row.state)
      }),
    ),

  delete: (workspaceId, mode, id) => {
    const row = storedRow(tables, workspaceId, mode, id)
    if (row === undefined) return null
    endFile(tables, row, "deleted")
    return row.file
  },
})

/** Attachments, and the removal of ended files. */
const attachmentSteps = (
  tables: Tables,
): Pick<
  MediaStoreSteps,
  "attach" | "detach" | "sweepAttachments" | "leftovers" | "removed" | "forget"
> => ({
  attach: (file, limitBytes) => takeRoom(tables, file, limitBytes, "attached"),

  detach: (id) => {
    const row = tables.media.get(id)
    if (row?.state !== "attached" || tables.messagesByAttachment.has(id)) return false
    endFile(tables, row, "discarded")
    return true
  },

  sweepAttachments: ({ now, unusedSince }) =>
    visitInSteps(tables.media.rows, (row) => {
      if (row.state === "attached") sweepAttachment(tables, row, now, unusedSince)
    }),

  leftovers: ({ limit, reservedBefore }) =>
    Effect.map(
      collectInSteps(tables.media.rows, (row) => {
        endOld(tables, row, reservedBefore)
        const { id, storageKey } = row.file
        return isFileEnded(row.state) && row.hasBytes ? { id, storageKey } : null
      }),
      (found) => found.slice(0, limit),
    ),

  removed: (ids) => {
    for (const id of ids) {
      const row = tables.media.get(id)
      if (row !== undefined && isFileEnded(row.state)) row.hasBytes = false
    }
  },

  forget: (createdBefore) =>
    visitInSteps(tables.media.rows, (row) => {
      if (isFileEnded(row.state) && !row.hasBytes && row.file.createdAt < createdBefore) {
        row.forgotten = true
      }
    }),
})

export const mediaStore = (tables: Tables): MediaStoreSteps => ({
  ...fileSteps(tables),
  ...attachmentSteps(tables),
})

// Media files, for tests and for embedders without a disk

/** First bytes in Latin-1. */
const signatures: ReadonlyArray<readonly [mimeType: string, form: RegExp]> = [
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["application/pdf", /^%PDF-/],
]

const sniffed = (bytes: Uint8Array): string => {
  const first = String.fromCharCode(...bytes.subarray(0, 12))
  return signatures.find(([, form]) => form.test(first))?.[0] ?? unknownMimeType
}

const stored = (bytes: Uint8Array): StoredContent => ({
  size: bytes.length,
  sha256: bytesToHex(sha256(bytes)),
  mimeType: sniffed(bytes),
  content: Stream.succeed(bytes),
  part: (from, to) => Stream.succeed(bytes.subarray(from, to)),
})

const collect = <E>(content: Stream.Stream<Uint8Array, E>, maximumBytes: number) =>
  content.pipe(
    Stream.limitBytes<E | MediaFilesError, never>(ByteSize.bytes(maximumBytes), () =>
      Stream.fail(new MediaFilesError({ reason: "too_large" })),
    ),
    Stream.mkUint8Array,
  )

/** Keeps whole files in memory; detects the pictures that transports show, and PDF. */
export const layerMediaFiles: Layer.Layer<MediaFiles, never, Ids> = Layer.effect(
  MediaFiles,
  Effect.gen(function* () {
    const ids = yield* Ids
    const files = new Map<string, Uint8Array>()
    return MediaFiles.of({
      isRetained: true,
      open: (storageKey) =>
        Effect.suspend(() => {
          const bytes = files.get(storageKey)
          return bytes === undefined
            ? Effect.fail(new MediaFilesError({ reason: "not_found" }))
            : Effect.succeed(stored(bytes))
        }),
      spool: (content, maximumBytes) =>
        Effect.map(collect(content, maximumBytes), (bytes) => {
          const storageKey = ids.hex(32)
          const keep = Effect.sync(() => void files.set(storageKey, bytes))
          return { ...stored(bytes), storageKey, keep }
        }),
      room: Effect.void,
      space: Effect.succeed(null),
      remove: (storageKey) => Effect.sync(() => void files.delete(storageKey)),
      ready: Effect.void,
      removeAbandoned: Effect.void,
    })
  }),
)
