/** The records of media files, and what they take of their workspace's storage. */
import { sqlFiles } from "../sql.generated.ts"
import { erasedAtOnce } from "@messaging-service/core"
import type { MediaFile, MediaId, MediaStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  decoded,
  newestFirst,
  paging,
  instant,
  integer,
  text,
} from "../database/Fields.ts"
import { call, given, sqlFunction, statement, taking } from "../database/Statement.ts"
import {
  attach,
  commit,
  fileColumns,
  fileFields,
  reserve,
  toFile,
  toReservation,
} from "./incomingFiles.ts"
import type { ReservationRow } from "./incomingFiles.ts"

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
