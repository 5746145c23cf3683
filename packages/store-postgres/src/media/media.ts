/** The records of media files, and what they take of their workspace's storage. */
import { erasedAtOnce } from "@messaging-service/core"
import type { MediaFile, MediaId, MediaStore, Reservation } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { statement } from "../database/Sql.ts"
import type { Params, Row } from "../database/Sql.ts"
import { toClaimParams } from "../request/idempotency.ts"

// A media file as its table keeps it, and how it comes in: reserved and then put into the directory,
// or attached to a message. Locks: the workspace's usage, which nothing else is locked after; files of
// one workspace are counted one after the other, and each is measured against what is really used.

export const toFile = (row: Row<"media.get">): MediaFile => ({
  id: Number(row.id) as MediaId,
  workspaceId: Number(row.workspace_id) as MediaFile["workspaceId"],
  mode: row.mode as MediaFile["mode"],
  fileName: row.file_name,
  type: row.type as MediaFile["type"],
  mimeType: row.mime_type,
  size: Number(row.size),
  storageKey: row.storage_key as MediaFile["storageKey"],
  createdAt: row.created_at.getTime(),
})

/** A file that asks for room, and how much its workspace may use. */
const toNewFile = (
  file: Omit<MediaFile, "id">,
  limitBytes: number,
): Params<"reserve_media_file"> => ({
  workspaceId: file.workspaceId,
  mode: file.mode,
  fileName: file.fileName,
  type: file.type,
  mimeType: file.mimeType,
  size: file.size,
  storageKey: file.storageKey,
  createdAt: file.createdAt,
  limitBytes,
})

const toReservation = ([row]: ReadonlyArray<Row<"reserve_media_file">>): Reservation =>
  row === undefined || row.id === null
    ? { _tag: "Full", used: Number(row?.used ?? 0) }
    : { _tag: "Reserved", id: Number(row.id) as MediaId }

const reserveFile = statement("reserve_media_file")
const attachFile = statement("attach_media_file")
const commitFile = statement("commit_media_file")
const discardFile = statement("media.discard")
const deleteFile = statement("media.delete")
const getFile = statement("media.get")
const listAll = statement("media.list")
const listOfType = statement("media.listOfType")
const findFile = statement("media.find")
const missingFiles = statement("media.missing", { joinable: true })
const detachFile = statement("media.detach")
const sweepFiles = statement("media.sweepAttachments")
const leftOverFiles = statement("left_over_media_files")
const bytesRemoved = statement("media.removed")
const forgetFiles = statement("media.forget")

const toFound = (row: Row<"media.find">) => ({ file: toFile(row), deleted: row.deleted })

const toLeftover = (row: Row<"left_over_media_files">): Pick<MediaFile, "id" | "storageKey"> => ({
  id: Number(row.id) as MediaId,
  storageKey: row.storage_key as MediaFile["storageKey"],
})

const toBroken = ({ answer }: Row<"commit_media_file">) =>
  answer as "idempotency" | "reservation" | null

export const mediaStore = (database: DatabaseService): MediaStore => ({
  reserve(file, limitBytes) {
    return Effect.map(reserveFile.rows(database, toNewFile(file, limitBytes)), toReservation)
  },
  commit(id, claim, now) {
    return commitFile.first(database, { id, now, ...toClaimParams(claim) }, toBroken)
  },
  discard(id) {
    return discardFile.run(database, { id })
  },
  get(workspaceId, mode, id) {
    return getFile.first(database, { workspaceId, mode, id }, toFile)
  },
  list(workspaceId, mode, type, page) {
    return type === null
      ? listAll.page(database, workspaceId, { ...page, workspaceId, mode }, toFile)
      : listOfType.page(database, workspaceId, { ...page, workspaceId, mode, type }, toFile)
  },
  find(id) {
    return findFile.first(database, { id }, toFound)
  },
  missing(ids) {
    return Effect.map(
      missingFiles.rows(database, { ids }),
      (rows) => new Set(rows.map(({ id }) => Number(id) as MediaId)),
    )
  },
  delete(workspaceId, mode, id) {
    return deleteFile.first(database, { workspaceId, mode, id }, toFile)
  },
  attach(file, limitBytes) {
    return Effect.map(attachFile.rows(database, toNewFile(file, limitBytes)), toReservation)
  },
  detach(id) {
    return detachFile.any(database, { id })
  },
  sweepAttachments(sweep) {
    return sweepFiles.run(database, sweep)
  },
  leftovers(query) {
    return leftOverFiles.all(database, query, toLeftover)
  },
  removed(ids) {
    return bytesRemoved.run(database, { ids })
  },
  forget(createdBefore) {
    return forgetFiles.untilDone(database, { createdBefore, limit: erasedAtOnce })
  },
})
