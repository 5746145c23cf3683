-- The lists of version 1: by offset, newest first, each with its total from the same statement. The total
-- costs what there is to count, and a page what lies before it: both are read from an index. A page that
-- holds nothing is one row without an id.

-- name: messages
-- Index messages_by_workspace. All messages between the inner two of four ids are of the period, and are
-- counted in the index alone; nearer to its ends the times themselves are compared: ids are given out at
-- acceptance and times read a little earlier, on several machines.
-- Never null: total
with ends as materialized (
  select
    message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes') as outer_first,
    message_id_at(:workspaceId, :mode, :since + interval '2 minutes') as inner_first,
    message_id_at(:workspaceId, :mode, :until::timestamptz - interval '2 minutes') as inner_last,
    message_id_at(:workspaceId, :mode, :until + interval '2 minutes') as outer_last
),
counted as materialized (
  select (
    select count(*)
    from messages r
    where r.workspace_id = :workspaceId
      and r.mode = :mode
      and r.created_at >= :since
      and r.created_at < :until
      and r.id >= ends.outer_first
      and r.id < ends.inner_first
  ) + (
    select count(*)
    from messages r
    where r.workspace_id = :workspaceId
      and r.mode = :mode
      and r.id >= ends.inner_first
      and r.id < ends.inner_last
  ) + (
    select count(*)
    from messages r
    where r.workspace_id = :workspaceId
      and r.mode = :mode
      and r.created_at >= :since
      and r.created_at < :until
      and r.id >= greatest(ends.inner_first, ends.inner_last)
      and r.id < ends.outer_last
  ) as total
  from ends
)
select counted.total, page.*
from counted
left join lateral (
  select shown.*
  from messages r
  cross join lateral shown_message(r, r.number_id) shown
  where r.workspace_id = :workspaceId
    and r.mode = :mode
    and r.created_at >= :since
    and r.created_at < :until
    and r.id >= (select ends.outer_first from ends)
    and r.id < (select ends.outer_last from ends)
  order by r.id desc
  limit :limit
  offset :offset
) page on true
order by page.id desc

-- name: media
-- Index media_files_kept.
-- Never null: total
with counted as materialized (
  select count(*) as total from media_files r
  where r.workspace_id = :workspaceId
    and r.mode = :mode
    and r.state = 'kept'
)
select counted.total, page.*
from counted
left join lateral (
  select
    r.id, r.workspace_id, r.mode, r.file_name, r.type, r.mime_type, r.size, r.storage_key,
    r.created_at
  from media_files r
  where r.workspace_id = :workspaceId
    and r.mode = :mode
    and r.state = 'kept'
  order by r.id desc
  limit :limit
  offset :offset
) page on true
order by page.id desc

-- name: mediaOfType
-- Index media_files_by_type.
-- Never null: total
with counted as materialized (
  select count(*) as total from media_files r
  where r.workspace_id = :workspaceId
    and r.mode = :mode
    and r.state = 'kept'
    and r.type = :type
)
select counted.total, page.*
from counted
left join lateral (
  select
    r.id, r.workspace_id, r.mode, r.file_name, r.type, r.mime_type, r.size, r.storage_key,
    r.created_at
  from media_files r
  where r.workspace_id = :workspaceId
    and r.mode = :mode
    and r.state = 'kept'
    and r.type = :type
  order by r.id desc
  limit :limit
  offset :offset
) page on true
order by page.id desc

-- name: reminders
-- Index reminders_by_workspace.
-- Never null: total
with counted as materialized (
  select count(*) as total from reminders r
  where r.workspace_id = :workspaceId
    and r.mode = :mode
    and r.removed_at is null
)
select counted.total, page.*
from counted
left join lateral (
  select
    r.id, r.workspace_id, r.mode, r.next_run_at, r.created_at, r.name, r.active, r.recipient,
    r.number_id, r.text, r.media, r.cron, r.timezone, r.revision,
    (
      select json_build_object(
        'dueAt', epoch_millis(l.due_at), 'outcome', l.outcome, 'messageId', l.message_id,
        'code', l.code
      )
      from reminder_runs l
      where l.reminder_id = r.id
      order by l.id desc
      limit 1
    ) as "lastRun"
  from reminders r
  where r.workspace_id = :workspaceId
    and r.mode = :mode
    and r.removed_at is null
  order by r.id desc
  limit :limit
  offset :offset
) page on true
order by page.id desc

-- name: checkResults
-- Index number_check_results_by_check.
-- Never null: total
with counted as materialized (
  select count(*) as total from number_check_results r
  where r.check_id = :id
    and (:status::text is null or r.status = :status)
)
select counted.total, page.*
from counted
left join lateral (
  select r.id, r.phone, r.status, r.checked_at
  from number_check_results r
  where r.check_id = :id
    and (:status::text is null or r.status = :status)
  order by r.id desc
  limit :limit
  offset :offset
) page on true
order by page.id desc
