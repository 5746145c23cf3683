/** `ReceivedFileStore` in memory. */
import { isOwned, takeFairShares } from "@messaging-service/core"
import type {
  ClaimedFile,
  FileSettlement,
  MediaFile,
  ReceivedFileStore,
  StoredReceivedFile,
} from "@messaging-service/core"
import { isReadable } from "./chatRows.ts"
import type { Steps } from "./collections.ts"
import { discardStored, takeRoom } from "./media.ts"
import type { ReceivedFileRow, ReceivedRow, Tables } from "./tables.ts"

const toClaimed = ({ lease, row, source, wantedAt }: ReceivedFileRow): ClaimedFile => {
  const { conversations, workspace } = row.lane.workspace
  const { file, id, mode } = row.message
  const { id: numberId, platform } = row.lane.number
  if (file === null || source === null) throw new Error("a message without a file is claimed")
  const { state: _, ...described } = file
  return {
    id,
    workspaceId: workspace.id,
    mode,
    numberId,
    platform,
    remoteId: row.remoteId,
    file: described,
    source,
    lease,
    wantedAt: wantedAt ?? 0,
    maxFileBytes: conversations?.maxFileBytes ?? 0,
  }
}

/** Undefined once the lease is over. */
const findLeased = (
  tables: Tables,
  { id, lease }: Pick<ClaimedFile, "id" | "lease">,
): ReceivedFileRow | undefined => {
  const row = tables.receivedFiles.get(id)
  return row?.lease === lease && row.leaseUntil !== null ? row : undefined
}

const show = (row: ReceivedRow, file: StoredReceivedFile) => {
  row.message = { ...row.message, file }
}

const settle = (tables: Tables, settlement: FileSettlement): boolean => {
  const found = findLeased(tables, settlement)
  if (found === undefined || found.row.message.file === null) return false
  const { row } = found
  const { file } = row.message
  found.leaseUntil = null
  switch (settlement._tag) {
    case "Ready":
      found.source = null
      found.nextDue = null
      show(row, settlement.file)
      break
    case "Ended":
      discardStored(tables, found, "discarded")
      tables.receivedFiles.delete(row.message.id)
      show(row, { ...file, state: settlement.state } as StoredReceivedFile)
      break
    case "Again":
      discardStored(tables, found, "discarded")
      found.nextDue = settlement.dueAt
      break
    default:
      break
  }
  return true
}

export const receivedFileStore = (tables: Tables): Steps<ReceivedFileStore> => ({
  claim: (query) => {
    const { leaseUntil, limit, now, owned } = query
    const due = [...tables.receivedFiles.values()]
      .filter(({ row }) => isOwned(row.lane.number.id, owned))
      .flatMap((file) => {
        const { nextDue: at } = file
        return at !== null && at <= now ? { at, file } : []
      })
      .toSorted((a, b) => a.at - b.at || a.file.row.message.id - b.file.row.message.id)
    const toWorkspace = ({ file: { row } }: (typeof due)[number]) => row.lane.workspace.workspace.id
    return takeFairShares(due, toWorkspace, query, limit).map(({ file }) => {
      file.lease++
      file.leaseUntil = leaseUntil
      file.nextDue = leaseUntil
      return toClaimed(file)
    })
  },

  reserve: (claimed, file) => {
    const found = findLeased(tables, claimed)
    const settings = found?.row.lane.workspace.conversations ?? null
    if (found === undefined || settings === null) return null
    discardStored(tables, found, "discarded")
    const reservation = takeRoom(tables, file, settings.maxStorageBytes, "received")
    if ("_tag" in reservation && reservation._tag === "Reserved") found.mediaId = reservation.id
    return reservation
  },

  settle: (settlement) => settle(tables, settlement),

  find: (id) => {
    const row = tables.received.get(id)
    const file = row?.message.file ?? null
    if (row === undefined || file === null || !isReadable(row)) return null
    const mediaId = tables.receivedFiles.get(id)?.mediaId ?? null
    const stored: MediaFile | null =
      file.state === "ready" && mediaId !== null ? (tables.media.get(mediaId)?.file ?? null) : null
    return { state: file.state, stored }
  },

  request: (id, now) => {
    const row = tables.receivedFiles.get(id)
    if (row === undefined || row.source === null || row.leaseUntil !== null) return false
    if (!isReadable(row.row)) return false
    row.nextDue = Math.min(row.nextDue ?? now, now)
    row.wantedAt ??= now
    return true
  },
})
