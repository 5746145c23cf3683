/** The records of media files, and what they take of their workspace's storage. */
import { erasedAtOnce } from "@messaging-service/core"
import type { MediaFile, MediaId, MediaStore, Reservation } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  columnsOf,
  decoded,
  instant,
  integer,
  newestFirst,
  paging,
  selected,
  text,
  without,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import {
  call,
  given,
  joined,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { claimParameters } from "../request/idempotency.ts"
import { sqlFiles } from "../sql.generated.ts"

// A media file as its table keeps it, and how it comes in: reserved and then put into the directory,
// or attached to a message. Locks: the workspace's usage, which nothing else is locked after; files of
// one workspace are counted one after the other, and each is measured against what is really used.

const fileFields = {
  id: { id: bigint((file) => file.id) },
  workspaceId: { workspace_id: bigint((file) => file.workspaceId) },
  mode: { mode: text((file) => file.mode) },
  fileName: { file_name: text((file) => file.fileName) },
  type: { type: text((file) => file.type) },
  mimeType: { mime_type: text((file) => file.mimeType) },
  size: { size: bigint((file) => file.size) },
  storageKey: { storage_key: text((file) => file.storageKey) },
  createdAt: { created_at: instant((file) => file.createdAt) },
} satisfies FieldsOf<MediaFile>

const table = columnsOf(fileFields)

export const fileColumns = (alias: string): string => selected(table, alias)
export const toFile = decoded<MediaFile>(fileFields)

const columns = without(table, "id")

/** A file that asks for room, and how much its workspace may use. */
const parameters = joined(part("file", single(columns, "p_")), taking({ limitBytes: bigint }))

interface ReservationRow {
  readonly id: bigint | null
  readonly used: bigint
}

const toReservation = ([row]: ReadonlyArray<ReservationRow>): Reservation =>
  row === undefined || row.id === null
    ? { _tag: "Full", used: Number(row?.used ?? 0) }
    : { _tag: "Reserved", id: Number(row.id) as MediaId }

const reserve = call("media.reserve", sqlFunction("reserve_media_file", parameters))

const attach = call("media.attach", sqlFunction("attach_media_file", parameters))

const commit = call(
  "media.commit",
  sqlFunction("commit_media_file", joined(taking({ id: bigint, now: instant }), claimParameters)),
)

const ofFile = given({ workspaceId: bigint, mode: text, id: bigint })

/** A file leaves the directory, and its room is free again, in one statement. */
const endFile = (state: "deleted" | "discarded", which: string) => `
with ended as (
  update media_files m
  set state = '${state}'
  where ${which}
  returning m.*
),
freed as (
  update media_usage u
  set bytes = u.bytes - ended.size
  from ended
  where u.workspace_id = ended.workspace_id
)
select ${fileColumns("ended")}
from ended`

const discardFile = statement(
  "media.discard",
  given({ id: bigint }),
)(endFile("discarded", "m.id = $id and m.state = 'reserved'"))

const seen = "m.id = $id and m.workspace_id = $workspaceId and m.mode = $mode and m.state = 'kept'"

const deleteFile = statement("media.delete", ofFile)(endFile("deleted", seen))

const getFile = statement("media.get", ofFile)`
select ${fileColumns("m")}
from media_files m
where ${seen}`

/** Index media_files_by_type for one type, media_files_kept for all. */
const listFiles = (ofType: string) =>
  statement("media.list", given({ workspaceId: bigint, mode: text, ...paging, type: text }))`
select ${fileColumns("m")}
from media_files m
where m.workspace_id = $workspaceId
  and m.mode = $mode
  and m.state = 'kept'${ofType}
  and ${newestFirst("m")}`

const listAll = listFiles("")
const listOfType = listFiles("\n  and m.type = $type")

const findFile = statement(
  "media.find",
  given({ id: bigint }),
)(sqlFiles["statements/media/find-file.sql"])

const missingFiles = statement(
  "media.missing",
  given({ ids: bigints }),
)(sqlFiles["statements/media/missing-files.sql"])

const detachFile = statement(
  "media.detach",
  given({ id: bigint }),
)(sqlFiles["statements/media/detach-file.sql"])

const sweepFiles = statement(
  "media.sweepAttachments",
  given({ now: instant, unusedSince: instant }),
)(sqlFiles["statements/media/sweep-files.sql"])

const leftovers = call(
  "media.leftovers",
  sqlFunction("left_over_media_files", taking({ reservedBefore: instant, limit: integer })),
)

const toLeftover = decoded<Pick<MediaFile, "id" | "storageKey">>({
  id: fileFields.id,
  storageKey: fileFields.storageKey,
})

const bytesRemoved = statement(
  "media.removed",
  given({ ids: bigints }),
)(sqlFiles["statements/media/bytes-removed.sql"])

const forgetFiles = statement(
  "media.forget",
  given({ createdBefore: instant, limit: integer }),
)(sqlFiles["statements/media/forget-files.sql"])

export const mediaStore = (database: DatabaseService): typeof MediaStore.Service => ({
  reserve: (file, limitBytes) =>
    Effect.map(reserve.rows<ReservationRow>(database, { file, limitBytes }), toReservation),
  commit: (id, claim, now) =>
    commit.value<"idempotency" | "reservation">(database, { id, claim, now }),
  discard: (id) => discardFile.run(database, { id }),
  get: (workspaceId, mode, id) => getFile.first(database, { workspaceId, mode, id }, toFile),
  list: (workspaceId, mode, type, page) =>
    (type === null ? listAll : listOfType).page(
      database,
      workspaceId,
      { ...page, workspaceId, mode, type },
      toFile,
    ),
  find: (id) =>
    findFile.first(database, { id }, (row: { readonly deleted: boolean }) => ({
      file: toFile(row),
      deleted: row.deleted,
    })),
  missing: (ids) =>
    Effect.map(
      missingFiles.rows<{ readonly id: bigint }>(database, { ids }),
      (rows) => new Set(rows.map(({ id }) => Number(id) as MediaId)),
    ),
  delete: (workspaceId, mode, id) => deleteFile.first(database, { workspaceId, mode, id }, toFile),
  attach: (file, limitBytes) =>
    Effect.map(attach.rows<ReservationRow>(database, { file, limitBytes }), toReservation),
  detach: (id) => detachFile.any(database, { id }),
  sweepAttachments: (sweep) => sweepFiles.run(database, sweep),
  leftovers: (query) => leftovers.all(database, query, toLeftover),
  removed: (ids) => bytesRemoved.run(database, { ids }),
  forget: (createdBefore) =>
    forgetFiles.untilDone(database, { createdBefore, limit: erasedAtOnce }),
})
