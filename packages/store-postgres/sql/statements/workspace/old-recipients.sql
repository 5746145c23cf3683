-- Whom a number wrote to for the first time before its workspace's moment: the next message to them is
-- one to a new recipient again. Indexes numbers_ever_by_workspace and lane_recipients_by_time.
delete from lane_recipients gone
using (
  select found.number_id, found.recipient
  from unnest(:owners, :befores) list (owner, before)
  join numbers n on n.workspace_id = list.owner
  join lane_recipients found on found.number_id = n.id
    and found.first_sent_at < before
  limit :limit
) found
where gone.number_id = found.number_id
  and gone.recipient = found.recipient
returning gone.number_id
