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
import { stillWaits } from "../queue/lane.ts"
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

/** The core's `isFileThere`. */
export const isFileThere = (file: string): string => `${file}.state in ('kept', 'attached')`

const missingFiles = statement("media.missing", given({ ids: bigints }))`
select asked.id
from unnest($ids::bigint[]) asked (id)
where not exists (
  select
  from media_files m
  where m.id = asked.id
    and ${isFileThere("m")}
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

/** Whether the file's workspace was deleted. */
export const isOfDeleted = (file: string): string => `exists (
        select
        from workspaces w
        where w.id = ${file}.workspace_id
          and w.deleted_at is not null
      )`

/** Whether a message waits for an attachment. Index messages_with_attachment. */
export const isUsed = (file: string): string => `exists (
        select
        from messages waiting
        where waiting.attachment_id = ${file}.id
          and ${stillWaits("waiting")}
      )`

/** What is known of an attachment, by `used` and `gone`, as `isUsed` and `isOfDeleted` tell. */
type Held = string

/** The core's `unusedSinceAfter`. */
export const unusedSinceAfter = (file: string, held: Held, now: string): string =>
  `case when ${held}.used then null else coalesce(${file}.unused_since, ${now}) end`

/** The core's `isUnneeded`. */
export const isUnneeded = (file: string, held: Held, unusedBy: string): string =>
  `(${held}.gone or (not ${held}.used and coalesce(${file}.unused_since <= ${unusedBy}, false)))`

/** Whether a sweep changes what is known of an attachment; of all others nothing is written. */
export const isSwept = (file: string, held: Held, unusedBy: string): string => `(
      ${isUnneeded(file, held, unusedBy)}
      or ${held}.used = (${file}.unused_since is not null)
    )`

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
    ${isUnneeded("m", "held", "$unusedSince")} as ended
  from media_files m
  cross join lateral (
    select ${isUsed("m")} as used, ${isOfDeleted("m")} as gone
  ) held
  where m.state = 'attached'
    and ${isSwept("m", "held", "$unusedSince")}
  order by m.id
  for no key update of m skip locked
)
update media_files m
set unused_since = ${unusedSinceAfter("m", "seen", "$now")},
  state = case when seen.ended then 'deleted' else m.state end
from seen
where m.id = seen.id
  and m.state = 'attached'`

/** In the words of the index `media_files_reserved`. */
const isGivenUp = (file: string, reservedBefore: string): string =>
  `${file}.state = 'reserved' and ${file}.created_at < ${reservedBefore}`

/** The core's `sweptTo`; null while the file stays as it is. */
export const sweptTo = (file: string, reservedBefore: string): string => `case
          when ${isGivenUp(file, reservedBefore)} then 'discarded'
          when ${file}.state = 'kept' and ${isOfDeleted(file)} then 'deleted'
        end`

/** The core's `isFileEnded`, in the words of the indexes `media_files_left_over` and `media_files_remembered`. */
export const isFileEnded = (file: string): string => `${file}.state in ('deleted', 'discarded')`

/**
 * What the sweep of the media directory finds: files whose bytes are left over, after old
 * reservations were given up and the files of deleted workspaces were deleted.
 *
 * Locks: the files by id, passing over those that others hold, then the usage of their workspaces by
 * id. An upload that is committed at this very moment is passed over too.
 */
export const leftOverFiles = sqlFunction(
  "left_over_media_files",
  taking({ reservedBefore: instant, limit: integer }),
  "table (id bigint, storage_key text)",
)`
  declare
    v_ended bigint[];
  begin
    v_ended := array(
      select m.id
      from media_files m
      where m.id in (
        (
          select r.id
          from media_files r
          where ${isGivenUp("r", "p_reserved_before")}
          limit p_limit
        )
        union all
        -- Indexes workspaces_deleted and media_files_kept.
        (
          select k.id
          from workspaces w
          join media_files k on k.workspace_id = w.id
          where w.deleted_at is not null
            and k.state = 'kept'
          limit p_limit
        )
      )
      and m.state in ('reserved', 'kept')
      order by m.id
      for no key update skip locked
    );

    -- A later statement, now that they are locked: a reservation may have been committed between the
    -- search and the lock, and is then no more to be given up.
    v_ended := array(
      select m.id
      from media_files m
      where m.id = any (v_ended)
        and ${sweptTo("m", "p_reserved_before")} is not null
    );

    if cardinality(v_ended) > 0 then
      perform
      from media_usage u
      where u.workspace_id in (select m.workspace_id from media_files m where m.id = any (v_ended))
      order by u.workspace_id
      for no key update;

      with ended as (
        update media_files m
        set state = ${sweptTo("m", "p_reserved_before")}
        where m.id = any (v_ended)
        returning m.workspace_id, m.size
      )
      update media_usage u
      set bytes = u.bytes - freed.bytes
      from (
        select ended.workspace_id, sum(ended.size)::bigint as bytes
        from ended
        group by ended.workspace_id
      ) freed
      where u.workspace_id = freed.workspace_id;
    end if;

    -- Index media_files_left_over.
    return query
    select m.id, m.storage_key
    from media_files m
    where ${isFileEnded("m")}
      and m.has_bytes
    order by m.id
    limit p_limit;
  end`

const leftovers = call("media.leftovers", leftOverFiles)

const toLeftover = decoded<Pick<MediaFile, "id" | "storageKey">>({
  id: fileFields.id,
  storageKey: fileFields.storageKey,
})

const bytesRemoved = statement("media.removed", given({ ids: bigints }))`
update media_files m
set has_bytes = false
where m.id = any ($ids)
  and ${isFileEnded("m")}`

// Index media_files_remembered.
const forgetFiles = statement("media.forget", given({ createdBefore: instant, limit: integer }))`
delete from media_files gone
where gone.id in (
  select m.id
  from media_files m
  where m.created_at < $createdBefore
    and ${isFileEnded("m")}
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
