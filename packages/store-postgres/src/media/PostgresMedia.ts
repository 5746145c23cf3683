/** The records of media files, and what they take of their workspace's storage. */
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

const findFile = statement("media.find", given({ id: bigint }))`
select ${fileColumns("m")}, m.state = 'deleted' as deleted
from media_files m
where m.id = $id
  and m.state in ('kept', 'attached', 'deleted')`

const missingFiles = statement("media.missing", given({ ids: bigints }))`
select asked.id
from unnest($ids::bigint[]) asked (id)
where not exists (
  select
  from media_files m
  where m.id = asked.id
    and :code.is_file_there(m)
)`

// Index messages_with_attachment.
const detachFile = statement("media.detach", given({ id: bigint }))`
update media_files m
set state = 'discarded'
where m.id = $id
  and m.state = 'attached'
  and not exists (
    select
    from messages has
    where has.attachment_id = m.id
  )
returning m.id`

/**
 * The records of attachments: files in a state of their own, which neither the directory nor the
 * count of its room knows. Only this sweep touches one that a message has.
 *
 * Indexes media_files_attached and messages_with_attachment. Files that another sweep holds are left
 * to it; all are locked in the order of their ids.
 */
const sweepFiles = statement(
  "media.sweepAttachments",
  given({ now: instant, unusedSince: instant }),
)`
with seen as materialized (
  select
    m.id,
    held.used,
    :code.is_unneeded(m, held.used, held.gone, $unusedSince) as ended
  from media_files m
  cross join lateral (
    select exists (select from :code.waiting_for_attachment(m.id)) as used, exists (select from :code.deleted_workspace(m.workspace_id)) as gone
  ) held
  where m.state = 'attached'
    and :code.is_swept(m, held.used, held.gone, $unusedSince)
  order by m.id
  for no key update of m skip locked
)
update media_files m
set unused_since = :code.unused_since_after(m, seen.used, $now),
  state = case when seen.ended then 'deleted' else m.state end
from seen
where m.id = seen.id
  and m.state = 'attached'`

/** The core's `isFileEnded`, in the words of the indexes `media_files_left_over` and `media_files_remembered`. */
export const isFileEnded = (file: string): string => `:code.is_file_ended(${file})`

const leftovers = call(
  "media.leftovers",
  sqlFunction("left_over_media_files", taking({ reservedBefore: instant, limit: integer })),
)

const toLeftover = decoded<Pick<MediaFile, "id" | "storageKey">>({
  id: fileFields.id,
  storageKey: fileFields.storageKey,
})

const bytesRemoved = statement("media.removed", given({ ids: bigints }))`
update media_files m
set has_bytes = false
where m.id = any ($ids)
  and :code.is_file_ended(m)`

// Index media_files_remembered.
const forgetFiles = statement("media.forget", given({ createdBefore: instant, limit: integer }))`
delete from media_files gone
where gone.id in (
  select m.id
  from media_files m
  where m.created_at < $createdBefore
    and :code.is_file_ended(m)
    and not m.has_bytes
  limit $limit
)
returning gone.id`

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
