-- Deleting a workspace: it is marked, its keys no longer admit, its webhook endpoints and its numbers
-- are gone and their lanes close, and what was to be called for it is dropped.
--
-- Locks: its campaigns, then its lanes, by id as everywhere. The workspace's row is then locked against the
-- birth of further numbers, and lanes born in between are closed after all. No more than that: a caller's
-- open transaction holds a key share of the row, and needs the lanes for its commit.
create function delete_workspace(p_id bigint, p_now timestamptz)
returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform
  from campaigns c
  where c.workspace_id = p_id
    and c.removed_at is null
  order by c.id
  for no key update;
  perform
  from lanes l
  where l.number_id in (select n.id from numbers n where n.workspace_id = p_id)
  order by l.number_id
  for no key update;

  perform
  from workspaces w
  where w.id = p_id
    and w.deleted_at is null
  for no key update;
  if not found then
    return false;
  end if;

  update workspaces w
  set deleted_at = p_now,
    admits = false,
    admits_v1 = false
  where w.id = p_id;

  update campaigns c
  set removed_at = p_now
  where c.workspace_id = p_id
    and c.removed_at is null;

  perform
  from webhook_lanes l
  where l.workspace_id = p_id
  order by l.endpoint_id
  for no key update;
  perform remove_webhook_endpoints(
    array(
      select e.id
      from webhook_endpoints e
      where e.workspace_id = p_id
        and e.removed_at is null
    ),
    p_now
  );
  perform remove_lanes(
    array(select n.id from numbers n where n.workspace_id = p_id and n.removed_at is null),
    p_now
  );
  update numbers n
  set removed_at = p_now
  where n.workspace_id = p_id
    and n.removed_at is null;

  -- No lane of the workspace is open any more, so that no further one comes after this.
  delete from webhook_deliveries d
  where d.workspace_id = p_id;
  delete from webhook_lanes l
  where l.workspace_id = p_id;

  delete from conversation_settings c
  where c.workspace_id = p_id;
  perform end_portal(p_id, p_now);
  delete from sign_in_links l
  where l.workspace_id = p_id;
  return true;
end
$$;
