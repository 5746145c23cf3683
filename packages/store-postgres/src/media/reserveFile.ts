/**
 * Taking room for a file. Locks: the workspace's usage, which nothing else is locked after; uploads
 * of one workspace are counted one after the other, and each is measured against what is really
 * used.
 */
import type { MediaFile, MediaId, Reservation } from "@messaging-service/core"
import { bigint, instant, text } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"

/** The file's id; or null and what is used, when there is no room. */
export const reserveFile = sqlFunction(
  "reserve_media_file",
  `(
    p_workspace bigint, p_mode text, p_file_name text, p_type text, p_mime_type text, p_size bigint,
    p_storage_key text, p_created_at timestamptz, p_limit bigint
  )
  returns table (id bigint, used bigint)
  language plpgsql
  as $function$
  #variable_conflict use_column
  declare
    v_used bigint;
    v_id bigint;
  begin
    insert into media_usage (workspace_id, bytes)
    values (p_workspace, 0)
    on conflict (workspace_id) do nothing;

    select u.bytes
    into v_used
    from media_usage u
    where u.workspace_id = p_workspace
    for no key update;

    if v_used + p_size <= p_limit then
      update media_usage u
      set bytes = v_used + p_size
      where u.workspace_id = p_workspace;
      insert into media_files (
        workspace_id, mode, file_name, type, mime_type, size, storage_key, created_at, state
      )
      values (
        p_workspace, p_mode, p_file_name, p_type, p_mime_type, p_size, p_storage_key, p_created_at,
        'reserved'
      )
      returning media_files.id into v_id;
    end if;
    return query select v_id, v_used;
  end
  $function$`,
)

/** What taking room for a file answers. */
export interface ReservationRow {
  readonly id: bigint | null
  readonly used: bigint
}

/** What it is asked with. */
export const reservationParameters = (file: Omit<MediaFile, "id">, limitBytes: number) => [
  bigint(file.workspaceId),
  text(file.mode),
  text(file.fileName),
  text(file.type),
  text(file.mimeType),
  bigint(file.size),
  text(file.storageKey),
  instant(file.createdAt),
  bigint(limitBytes),
]

export const toReservation = ([row]: ReadonlyArray<ReservationRow>): Reservation =>
  row === undefined || row.id === null
    ? { _tag: "Full", used: Number(row?.used ?? 0) }
    : { _tag: "Reserved", id: Number(row.id) as MediaId }
