/** Files of received messages. */
import type {
  ClaimedFile,
  FileSettlement,
  MediaId,
  Platform,
  ReceivedFileStore,
  ReceivedMessage,
  ReceivedMessageId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"
import { toFile } from "../media/media.ts"
import { toOwnedParams, toShareParams } from "../queue/lanes.ts"

const claimFiles = statement("claim_received_files")
const reserveFile = statement("reserve_received_file")
const settleFile = statement("settle_received_file")
const findFile = statement("receivedFile.find")
const requestFile = statement("receivedFile.request")

type StoredFile = NonNullable<ReceivedMessage["file"]>

const toClaimed = (row: Row<"claim_received_files">): ClaimedFile => {
  const { state: _, ...file } = row.file as StoredFile
  return {
    id: Number(row.id) as ReceivedMessageId,
    workspaceId: Number(row.workspace_id) as ClaimedFile["workspaceId"],
    mode: row.mode as ClaimedFile["mode"],
    numberId: Number(row.number_id) as ClaimedFile["numberId"],
    platform: row.platform as Platform,
    remoteId: row.remote_id,
    file,
    source: row.source,
    lease: Number(row.lease),
    wantedAt: row.wanted_at.getTime(),
    maxFileBytes: Number(row.max_file_bytes),
  }
}

const toSettled = (settlement: FileSettlement) => ({
  receivedId: settlement.id,
  lease: settlement.lease,
  kept: settlement._tag === "Ready",
  state: settlement._tag === "Ended" ? settlement.state : null,
  file: settlement._tag === "Ready" ? JSON.stringify(settlement.file) : null,
  due: settlement._tag === "Again" ? settlement.dueAt : null,
})

const toFound = ({ state, ...row }: Row<"receivedFile.find">) => ({
  state: state as StoredFile["state"],
  stored: row.id === null ? null : toFile(row as Parameters<typeof toFile>[0]),
})

export const receivedFileStore = (database: DatabaseService): ReceivedFileStore => ({
  claim(query) {
    const { leaseUntil, limit, now, owned } = query
    const params = { now, leaseUntil, limit, ...toOwnedParams(owned), ...toShareParams(query) }
    return claimFiles.all(database, params, toClaimed)
  },
  reserve({ id, lease }, file) {
    const params = {
      receivedId: id,
      lease,
      workspaceId: file.workspaceId,
      mode: file.mode,
      fileName: file.fileName,
      type: file.type,
      mimeType: file.mimeType,
      size: file.size,
      storageKey: file.storageKey,
      createdAt: file.createdAt,
    }
    return Effect.map(reserveFile.rows(database, params), ([row]) => {
      if (row === undefined) return null
      return row.id === null
        ? { _tag: "Full", used: Number(row.used) }
        : { _tag: "Reserved", id: Number(row.id) as MediaId }
    })
  },
  settle(settlement) {
    return settleFile.isTrue(database, toSettled(settlement))
  },
  find(id) {
    return findFile.first(database, { id }, toFound)
  },
  request(id, now) {
    return requestFile.any(database, { id, now })
  },
})
