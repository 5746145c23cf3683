/** The records of media files, and what they take of their workspace's storage. */
import type { MediaFile, MediaStore } from "@messaging-service/core/ports"
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
    held.gone or (not held.used and coalesce(m.unused_since <= $unusedSince, false)) as ended
  from media_files m
  cross join lateral (
    select
      exists (
        select
        from messages waiting
        where waiting.attachment_id = m.id
          and waiting.state = 'waiting'
      ) as used,
      exists (
        select
        from workspaces w
        where w.id = m.workspace_id
          and w.deleted_at is not null
      ) as gone
  ) held
  where m.state = 'attached'
    and (
      held.gone
      or (held.used and m.unused_since is not null)
      or (not held.used and (m.unused_since is null or m.unused_since <= $unusedSince))
    )
  order by m.id
  for no key update of m skip locked
)
update media_files m
set unused_since = case when seen.used then null else coalesce(m.unused_since, $now) end,
  state = case when seen.ended then 'deleted' else m.state end
from seen
where m.id = seen.id
  and m.state = 'attached'`

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
        -- Index media_files_reserved.
        (
          select r.id
          from media_files r
          where r.state = 'reserved'
            and r.created_at < p_reserved_before
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
        and (
          (m.state = 'reserved' and m.created_at < p_reserved_before)
          or (
            m.state = 'kept'
            and exists (
              select
              from workspaces w
              where w.id = m.workspace_id
                and w.deleted_at is not null
            )
          )
        )
    );

    if cardinality(v_ended) > 0 then
      perform
      from media_usage u
      where u.workspace_id in (select m.workspace_id from media_files m where m.id = any (v_ended))
      order by u.workspace_id
      for no key update;

      with ended as (
        update media_files m
        set state = case m.state when 'reserved' then 'discarded' else 'deleted' end
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
    where m.state in ('deleted', 'discarded')
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
  and m.state in ('deleted', 'discarded')`

// Index media_files_remembered.
const forgetFiles = statement("media.forget", given({ createdBefore: instant }))`
delete from media_files m
where m.created_at < $createdBefore
  and m.state in ('deleted', 'discarded')
  and not m.has_bytes`

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
  delete: (workspaceId, mode, id) => deleteFile.first(database, { workspaceId, mode, id }, toFile),
  attach: (file, limitBytes) =>
    Effect.map(attach.rows<ReservationRow>(database, { file, limitBytes }), toReservation),
  detach: (id) => detachFile.any(database, { id }),
  sweepAttachments: (sweep) => sweepFiles.run(database, sweep),
  leftovers: (query) => leftovers.all(database, query, toLeftover),
  removed: (ids) => bytesRemoved.run(database, { ids }),
  forget: (createdBefore) => forgetFiles.run(database, { createdBefore }),
})
