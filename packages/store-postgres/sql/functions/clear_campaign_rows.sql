-- How many rows the draft had; null when it is none, or has another revision.
create function clear_campaign_rows(p_id bigint, p_revision bigint) returns integer
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_rows integer;
begin
  select c.last_row
  into v_rows
  from campaigns c
  where c.id = p_id
    and c.revision = p_revision
    and c.state = 'draft'
    and c.removed_at is null
  for no key update;
  if not found then
    return null;
  end if;

  delete from campaign_rows r
  where r.campaign_id = p_id;
  update campaigns c
  set revision = c.revision + 1,
    last_row = 0,
    pending = 0,
    refused = 0,
    skipped = 0,
    expired = 0,
    upload = null,
    upload_until = null
  where c.id = p_id;
  return v_rows;
end
$$;
