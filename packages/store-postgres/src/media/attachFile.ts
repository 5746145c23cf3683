/**
 * Recording an attachment. Locks: the workspace's usage, as uploads do, so that attachments of one
 * workspace are counted one after the other, and each is measured against what is really there. The
 * sum is not kept: servers of the version before write and end attachments without telling anyone.
 */
import { sqlFunction } from "../database/SqlFunction.ts"

/** The file's id; or null and what is used, when there is no room. */
export const attachFile = sqlFunction(
  "attach_media_file",
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

    perform
    from media_usage u
    where u.workspace_id = p_workspace
    for no key update;

    -- A later statement, now that it is locked. Index media_files_attached_bytes.
    select coalesce(sum(m.size), 0)::bigint
    into v_used
    from media_files m
    where m.workspace_id = p_workspace
      and m.state = 'attached';

    if v_used + p_size <= p_limit then
      insert into media_files (
        workspace_id, mode, file_name, type, mime_type, size, storage_key, created_at, state
      )
      values (
        p_workspace, p_mode, p_file_name, p_type, p_mime_type, p_size, p_storage_key, p_created_at,
        'attached'
      )
      returning media_files.id into v_id;
    end if;
    return query select v_id, v_used;
  end
  $function$`,
)
