-- planned: what the fullest of the windows holds that a message planned for p_at falls into, with
-- what this call has accepted and not yet inserted. bound: all that is inserted and planned after
-- p_now - p_window, whatever lies ahead included. Times have milliseconds, so that a window begins a
-- microsecond behind the moment that it leaves out.
create function count_planned(
  p_number bigint,
  p_at timestamptz,
  p_now timestamptz,
  p_window interval,
  p_pending_at timestamptz[],
  p_pending_count integer[]
) returns table (planned integer, bound integer)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  -- The windows that end at p_at and with each message behind it. Those of messages before it are
  -- cut short, to no more than what the one at p_at holds.
  select coalesce(
    greatest(
      sum(windows.messages) filter (where windows.due_at <= p_at),
      max(windows.filled)
    ),
    0
  )
  into planned
  from (
    select
      near.due_at,
      near.messages,
      sum(near.messages) over (
        order by near.due_at
        range between p_window - interval '1 microsecond' preceding and current row
      ) as filled
    from (
      select counted.due_at, 1 as messages
      from counted_after(p_number, p_at - p_window) counted
      where counted.due_at < p_at + p_window
      union all
      select held.planned_at, 1
      from held_in_quota(p_number) held
      where held.planned_at > p_at - p_window
        and held.planned_at < p_at + p_window
      union all
      select k.due_at, k.messages
      from unnest(p_pending_at, p_pending_count) k (due_at, messages)
      where k.due_at > p_at - p_window
        and k.due_at < p_at + p_window
    ) near
  ) windows;
  select count(*)
  into bound
  from counted_after(p_number, p_now - p_window);
  return next;
end
$$;
