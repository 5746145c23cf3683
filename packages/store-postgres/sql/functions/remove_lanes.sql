-- Closing lanes, because their numbers were removed or their workspace deleted: nothing new is
-- accepted or claimed; what waits becomes orphaned. A message in flight keeps its lease, so that it
-- is handed out once more when its worker dies, and so is one with an interrupted attempt.
-- Attempts at linking end.
--
-- Locks: the lanes by id; only a later statement looks for what waits in them.
create function remove_lanes(p_numbers bigint[], p_now timestamptz)
returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform
  from lanes l
  where l.number_id = any (p_numbers)
  order by l.number_id
  for no key update;

  update lanes l
  set connected = false,
    removed_at = coalesce(l.removed_at, p_now),
    limited_until = null,
    (
      paused_until, pause_reason, pause_behind_until, pause_behind_reason
    ) = (null, null, null, null),
    disabled = false,
    next_due = next_due_removed(l, p_now),
    orphaned = exists (
      select
      from messages m
      where m.number_id = l.number_id
        and m.state = 'waiting'
        and not is_in_flight(m, l)
    )
  where l.number_id = any (p_numbers);

  delete from linking_attempts a
  where a.number_id = any (p_numbers);
end
$$;
