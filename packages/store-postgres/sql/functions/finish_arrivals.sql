-- Ends the notes of this transaction. Its commit asks once for each number, and the first time does it
-- all, as does a caller that sets its constraints to be immediate after it has sent. A number that was
-- removed meanwhile leaves what was accepted for it orphaned.
--
-- Locks: the lanes by id, then the workspaces by id.
create function finish_arrivals()
returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform
  from lanes l
  where l.number_id in (select a.number_id from lane_arrivals a)
  order by l.number_id
  for no key update;

  update lanes l
  set quota_bound = l.quota_bound + a.live,
    -- What was accepted may have taken the room that this moment promised.
    quota_full_until = null,
    next_due = case
      when a.due_at is null or l.removed_at is not null then l.next_due
      else next_due_accepted(l, a.due_at)
    end,
    front = least(l.front, a.due_at),
    -- Among those due at one moment, ids decide, and a transaction takes them long before its commit.
    turn_due = case when a.due_at is null or a.due_at > l.turn_due then l.turn_due end,
    orphaned = l.removed_at is not null and exists (
      select
      from messages m
      where m.number_id = l.number_id
        and m.state = 'waiting'
        and not is_in_flight(m, l)
    )
  from lane_arrivals a
  where l.number_id = a.number_id
    and (a.live > 0 or l.removed_at is not null);

  perform
  from workspaces w
  where w.id in (select a.workspace_id from plan_arrivals a)
  order by w.id
  for no key update;

  -- An operator may have set less meanwhile.
  update workspaces w
  set plan_messages_remaining = greatest(w.plan_messages_remaining - a.messages, 0)
  from plan_arrivals a
  where w.id = a.workspace_id
    and is_limited(w);

  delete from lane_arrivals;
  delete from plan_arrivals;
end
$$;
