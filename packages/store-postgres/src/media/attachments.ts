/**
 * The records of attachments: files in a state of their own, which neither the directory nor the
 * count of its room knows. Only the sweep touches one that a message has.
 */
import type {
  AttachmentSweep,
  MediaFile,
  MediaId,
  Reservation,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant } from "../database/parameters.ts"
import { placeholders } from "../database/SqlFunction.ts"
import { attachFile } from "./attachFile.ts"
import { reservationParameters, toReservation } from "./reserveFile.ts"
import type { ReservationRow } from "./reserveFile.ts"

const attachStatement = `
select a.id, a.used
from ${attachFile.name}(${placeholders(9)}) a`

// Index messages_with_attachment.
const detachFile = `
update media_files m
set state = 'discarded'
where m.id = $1
  and m.state = 'attached'
  and not exists (
    select
    from messages has
    where has.attachment_id = m.id
  )
returning m.id`

/**
 * Indexes media_files_attached and messages_with_attachment. Files that another sweep holds are left
 * to it; all are locked in the order of their ids.
 */
const sweepFiles = `
with seen as materialized (
  select
    m.id,
    held.used,
    held.gone or (not held.used and coalesce(m.unused_since <= $2, false)) as ended
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
      or (not held.used and (m.unused_since is null or m.unused_since <= $2))
    )
  order by m.id
  for no key update of m skip locked
)
update media_files m
set unused_since = case when seen.used then null else coalesce(m.unused_since, $1) end,
  state = case when seen.ended then 'deleted' else m.state end
from seen
where m.id = seen.id
  and m.state = 'attached'`

export const attach =
  (database: DatabaseService) =>
  (file: Omit<MediaFile, "id">, limitBytes: number): Effect.Effect<Reservation, StoreUnavailable> =>
    Effect.map(
      database.query<ReservationRow>(
        "media.attach",
        attachStatement,
        reservationParameters(file, limitBytes),
      ),
      toReservation,
    )

export const detach =
  (database: DatabaseService) =>
  (id: MediaId): Effect.Effect<boolean, StoreUnavailable> =>
    Effect.map(database.query("media.detach", detachFile, [bigint(id)]), (rows) => rows.length > 0)

export const sweepAttachments =
  (database: DatabaseService) =>
  ({ now, unusedSince }: AttachmentSweep): Effect.Effect<void, StoreUnavailable> =>
    Effect.asVoid(
      database.query("media.sweepAttachments", sweepFiles, [instant(now), instant(unusedSince)]),
    )
