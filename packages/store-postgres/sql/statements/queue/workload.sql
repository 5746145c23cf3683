-- One statement, so one snapshot. It finds what is in hands by looking through the lanes and the open
-- checks: only the emulator controls ask.
select json_build_object(
  'nextDue', epoch_millis(least(
    (
select l.next_due as due
from lanes l
where l.next_due is not null
  and is_claimable(l)
  and is_owned(l.number_id, null::bigint, null::bigint[])
  and (l.lease_until is not null or l.workspace_id <> all (((
    select case
      when coalesce(sum(held.leases), 0) < :whole[1]
        then coalesce(array_agg(held.workspace_id) filter (where held.leases >= :most[1]), '{}')
    end
    from (
      select holder.workspace_id, count(*) as leases
      from (select l.workspace_id from lanes l where is_leased(l.lease_until, :now)) holder
      group by holder.workspace_id
    ) held
  )::bigint[])))
order by l.next_due
limit 1),
    (
select m.expires_at as due
from messages m
where m.state = 'waiting'
  and m.expires_at is not null
  and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and is_in_flight(m, l)
  )
order by m.expires_at
limit 1),
    (
select m.due_at as due
from messages m
where m.state = 'waiting'
  and m.mode = 'test'
  and m.due_at < 'infinity'
  and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and (l.removed_at is not null or l.disabled)
  )
order by m.due_at
limit 1),
    (
select timestamptz 'epoch' as due
from lanes l
where l.orphaned
limit 1),
    (
select least(
  (
    select timestamptz 'epoch'
    from webhook_marks mark
    order by mark.id
    limit 1
  ),
  (
    select l.next_due
    from webhook_lanes l
    where l.next_due is not null
    order by l.next_due
    limit 1
  ),
  (
    select l.callback_due
    from webhook_lanes l
    where l.callback_due is not null
      and l.workspace_id <> all (((
    select case
      when coalesce(sum(held.leases), 0) < :whole[4]
        then coalesce(array_agg(held.workspace_id) filter (where held.leases >= :most[4]), '{}')
    end
    from (
      select holder.workspace_id, count(*) as leases
      from (
        select l.workspace_id
        from webhook_lanes l
        cross join lateral unnest(l.held_until) held (lease_until)
        where l.workspace_id is not null
          and is_leased(held.lease_until, :now)
      ) holder
      group by holder.workspace_id
    ) held
  )::bigint[]))
    order by l.callback_due
    limit 1
  )
) as due),
    (
select c.next_due as due
from number_checks c
join lanes l on l.number_id = c.number_id
where c.next_due is not null
  and can_be_asked(c, l)
  and is_asked_by(c, l, null::bigint, null::bigint[])
  and (c.lease_until is not null or c.workspace_id <> all (((
    select case
      when coalesce(sum(held.leases), 0) < :whole[2]
        then coalesce(array_agg(held.workspace_id) filter (where held.leases >= :most[2]), '{}')
    end
    from (
      select holder.workspace_id, count(*) as leases
      from (
        select c.workspace_id from number_checks c where c.next_due is not null and is_leased(c.lease_until, :now)
      ) holder
      group by holder.workspace_id
    ) held
  )::bigint[])))
order by c.next_due
limit 1),
    (
select least(
  (
    select a.due_at
    from linking_attempts a
    join numbers n on n.id = a.number_id
    where a.mode = 'test'
      or (
        is_owned(a.number_id, null::bigint, null::bigint[])
        and (a.lease_until is not null or n.workspace_id <> all (((
    select case
      when coalesce(sum(held.leases), 0) < :whole[3]
        then coalesce(array_agg(held.workspace_id) filter (where held.leases >= :most[3]), '{}')
    end
    from (
      select holder.workspace_id, count(*) as leases
      from (
        select n.workspace_id
        from linking_attempts a
        join numbers n on n.id = a.number_id
        where is_leased(a.lease_until, :now)
      ) holder
      group by holder.workspace_id
    ) held
  )::bigint[])))
      )
    order by a.due_at
    limit 1
  ),
  (
    select a.ends_at
    from linking_attempts a
    order by a.ends_at
    limit 1
  )
) as due),
    (
select r.next_run_at as due
from reminders r
where r.next_run_at is not null
order by r.next_run_at
limit 1)
  )),
  'inHands', (
    select coalesce(json_agg(held order by held.attempt), '[]')
    from (
      select l.number_id as "numberId", format('message %s %s', l.number_id, l.lease) as attempt
      from lanes l
      where is_leased(l.lease_until, :now)
      union all
      -- Index number_checks_due.
      select c.number_id, format('check %s %s', c.id, c.lease)
      from number_checks c
      where c.next_due is not null
        and is_leased(c.lease_until, :now)
    ) held
  ),
  'deliveringUntil', (
    select epoch_millis(max(held.until))
    from webhook_lanes l
    cross join lateral unnest(l.held_until) held (until)
  )
) as workload
