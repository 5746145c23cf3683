-- Changes a campaign's state, with what that does to its rows and messages; false when it has another revision or is
-- gone. What waits of a campaign that ends so is left to be cancelled (message.orphaned).
--
-- Locks: the campaign, its rows, then its lanes by id.
create function move_campaign(
  p_id bigint,
  p_revision bigint,
  p_now timestamptz,
  p_state text,
  p_state_reason text,
  p_is_holding boolean,
  p_asks_from_row boolean,
  p_running_since timestamptz,
  p_look_at timestamptz,
  p_started_at timestamptz,
  p_ended_at timestamptz,
  p_messages text,
  p_skip_before integer,
  p_is_removed boolean
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_skipped integer := 0;
begin
  update campaigns c
  set revision = c.revision + 1,
    state = p_state,
    state_reason = p_state_reason,
    is_holding = p_is_holding,
    asks_from_row = p_asks_from_row,
    running_since = p_running_since,
    look_at = p_look_at,
    woken_at = null,
    awaits = '{}',
    awaits_room = '{}',
    awaits_given_back = '{}',
    awaits_allowance = false,
    started_at = p_started_at,
    ended_at = p_ended_at,
    removed_at = case when p_is_removed then p_now end,
    orphaned = p_is_removed or p_state = 'stopped'
  where c.id = p_id
    and c.revision = p_revision
    and c.removed_at is null;
  if not found then
    return false;
  end if;

  if p_skip_before is not null then
    update campaign_rows r
    set state = 'skipped',
      code = 'restored'
    where r.campaign_id = p_id
      and r.row < p_skip_before
      and r.row <= (select c.last_row from campaigns c where c.id = p_id)
      and r.state = 'pending';
    get diagnostics v_skipped = row_count;
    update campaigns c
    set pending = c.pending - v_skipped,
      skipped = c.skipped + v_skipped
    where c.id = p_id;
  end if;

  if p_messages = 'hold' then
    perform hold_campaign(p_id, p_now);
  elsif p_messages = 'release' then
    perform release_campaign(p_id, p_now);
  end if;
  return true;
end
$$;
