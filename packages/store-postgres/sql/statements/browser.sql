-- name: use
-- Counts a request of a valid session.
update browser_sessions s
set last_used_at = :now,
  minute_start = case
    when is_in_same_window(s.minute_start, :minuteStart, interval '1 minute') then s.minute_start
    else :minuteStart
  end,
  minute_count = 1 + case
    when is_in_same_window(s.minute_start, :minuteStart, interval '1 minute') then s.minute_count
    else 0
  end
where s.hash = :hash
  and is_session_valid(s, :now, :tokenMark)
returning s.workspace_id, s.role, s.return_url, s.created_at, s.expires_at, s.minute_count

-- name: isValid
select
from browser_sessions s
where s.hash = :hash
  and is_session_valid(s, :now, :tokenMark)

-- name: end
delete from browser_sessions s
where s.hash = :hash

-- name: links
-- Index sign_in_links_by_workspace.
select
  l.id, l.role, l.return_url, l.created_at, l.code_expires_at, l.used_at, l.expires_at,
  l.revoked_at
from sign_in_links l
where l.workspace_id = :workspaceId
  and l.id < :before
order by l.id desc
limit :limit

-- name: forgetSessions
-- Few rows: at most 20 of a workspace.
delete from browser_sessions gone
using (
  select s.hash
  from browser_sessions s
  where has_session_ended(s, :now)
  limit :limit
) old
where gone.hash = old.hash
  and has_session_ended(gone, :now)
returning gone.hash

-- name: forgetLinks
-- A session lasts at most a day after its link, so what is older has ended too.
-- Index sign_in_links_by_age.
delete from sign_in_links gone
using (
  select l.id
  from sign_in_links l
  where l.code_expires_at < :before
    and coalesce(l.expires_at, l.code_expires_at) < :before
  limit :limit
) old
where gone.id = old.id
returning gone.id
