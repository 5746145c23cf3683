-- False when the number is unknown or removed. When new recipients begin to be limited, whom the number
-- has written to until now is looked up once.
--
-- Locks: campaigns, the lane, then its number; only a later statement looks at its messages.
create function control_lane(
  p_number bigint,
  p_now timestamptz,
  p_resume boolean,
  p_linked boolean,
  p_pause_reason text,
  p_pause_until timestamptz,
  p_pacing integer[],
  p_event_id text
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform look_at_campaigns(n.workspace_id, p_now)
  from numbers n
  where n.id = p_number;
  perform
  from lanes l
  where l.number_id = any (array[p_number])
  order by l.number_id
  for no key update;

  if p_pacing is not null and p_pacing[5] is null then
    delete from lane_recipients r
    where r.number_id = p_number;
  elsif p_pacing is not null then
    -- Index messages_sent.
    insert into lane_recipients (number_id, recipient, first_sent_at)
    select m.number_id, recipient_name(m), min(m.sent_at)
    from messages m
    join lanes l on l.number_id = m.number_id
    where m.number_id = p_number
      and m.state <> 'waiting'
      and m.sent_at is not null
      and counts_in_quota(m)
      and l.pacing[5] is null
    group by 1, 2
    on conflict (number_id, recipient) do nothing;
  end if;

  if p_pause_reason is not null then
    update lanes l
    set (
      paused_until, pause_reason, pause_behind_until, pause_behind_reason
    ) = (select p.* from pauses_after(l, p_pause_reason, p_pause_until) p),
      restricted_at = case when restricts(p_pause_reason) then p_now else l.restricted_at end
    where l.number_id = p_number
      and l.removed_at is null;
  elsif p_resume then
    update lanes l
    set (
      paused_until, pause_reason, pause_behind_until, pause_behind_reason
    ) = (null, null, null, null)
    where l.number_id = p_number;

    update numbers n
    set status_reason = 'connection_lost'
    where n.id = p_number
      and n.status = 'disconnected'
      and n.status_reason in ('replaced', 'restricted', 'banned', 'client_outdated');
  elsif p_linked then
    update lanes l
    set (
      paused_until, pause_reason, pause_behind_until, pause_behind_reason
    ) = (select p.* from pauses_once_linked(l) p)
    where l.number_id = p_number;
  end if;

  perform report_pause(p_number, p_event_id, p_now);
  update lanes l
  set pacing = coalesce(p_pacing, l.pacing),
    turn_due = case when not p_linked then l.turn_due end,
    limited_until = null,
    next_due = next_due_changed(
      l, holds_until(l, stopped_until(l.disabled, l.paused_until), may_have_left(l), is_open(l)),
      (select first.due_at from first_to_leave(l, p_now) first)
    )
  where l.number_id = p_number
    and l.removed_at is null;
  return found;
end
$$;
