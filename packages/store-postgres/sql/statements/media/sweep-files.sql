-- The records of attachments: files in a state of their own, which neither the directory nor the
-- count of its room knows. Only this sweep touches one that a message has.
--
-- Indexes media_files_attached and messages_with_attachment. Files that another sweep holds are left
-- to it; all are locked in the order of their ids.
with seen as materialized (
  select
    m.id,
    held.used,
    is_unneeded(m, held.used, held.gone, :unusedSince) as ended
  from media_files m
  cross join lateral (
    select
      exists (select from waiting_for_attachment(m.id)) as used,
      exists (select from deleted_workspace(m.workspace_id)) as gone
  ) held
  where m.state = 'attached'
    and is_swept(m, held.used, held.gone, :unusedSince)
  order by m.id
  for no key update of m skip locked
)
update media_files m
set unused_since = unused_since_after(m, seen.used, :now),
  state = case when seen.ended then 'deleted' else m.state end
from seen
where m.id = seen.id
  and m.state = 'attached'
