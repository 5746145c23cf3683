-- name: lanes
select n.due from next_lanes(:saturated, :of::bigint, :shards::bigint[]) n

-- name: expiry
select n.due from next_expiry() n

-- name: test_messages
select n.due from next_test_messages() n

-- name: orphaned
select n.due from next_orphaned() n

-- name: linking
select n.due from next_linking(:saturated, :of::bigint, :shards::bigint[]) n

-- name: reminders
select n.due from next_reminders() n

-- name: campaigns
select n.due from next_campaigns() n

-- name: pauses
select n.due from next_pauses() n

-- name: copies
select n.due from next_copies() n

-- name: read_marks
select n.due from next_read_marks(:of::bigint, :shards::bigint[]) n

-- name: deliveries
select n.due from next_deliveries(:saturated) n

-- name: number_checks
select n.due from next_number_checks(:saturated, :of::bigint, :shards::bigint[]) n

-- name: files
select n.due from next_files(:saturated, :of::bigint, :shards::bigint[]) n

-- name: earliest
-- For all workers together.
select json_build_object(
  'lanes', epoch_millis((select n.due from next_lanes('{}', null, null) n)),
  'expiry', epoch_millis((select n.due from next_expiry() n)),
  'test_messages', epoch_millis((select n.due from next_test_messages() n)),
  'orphaned', epoch_millis((select n.due from next_orphaned() n)),
  'linking', epoch_millis((select n.due from next_linking('{}', null, null) n)),
  'reminders', epoch_millis((select n.due from next_reminders() n)),
  'campaigns', epoch_millis((select n.due from next_campaigns() n)),
  'pauses', epoch_millis((select n.due from next_pauses() n)),
  'copies', epoch_millis((select n.due from next_copies() n)),
  'read_marks', epoch_millis((select n.due from next_read_marks(null, null) n)),
  'deliveries', epoch_millis((select n.due from next_deliveries('{}') n)),
  'number_checks', epoch_millis((select n.due from next_number_checks('{}', null, null) n)),
  'files', epoch_millis((select n.due from next_files('{}', null, null) n))
) as earliest

-- name: workload
-- One statement, so one snapshot. It finds what is in flight by looking through the lanes and the open
-- checks: only the emulator controls ask. Places of lanes, checks, linking, deliveries and files, in this order.
with saturated as materialized (
  select
    saturated_tenants(
      array(select l.workspace_id from lanes l where is_leased(l.lease_until, :now)),
      (:most::integer[])[1], (:whole::integer[])[1]
    ) as of_lanes,
    -- Index number_checks_due.
    saturated_tenants(
      array(
        select c.workspace_id
        from number_checks c
        where c.next_due is not null
          and is_leased(c.lease_until, :now)
      ),
      (:most::integer[])[2], (:whole::integer[])[2]
    ) as of_checks,
    saturated_tenants(
      array(
        select n.workspace_id
        from linking_attempts a
        join numbers n on n.id = a.number_id
        where is_leased(a.lease_until, :now)
      ),
      (:most::integer[])[3], (:whole::integer[])[3]
    ) as of_linking,
    saturated_tenants(
      array(
        select l.workspace_id
        from webhook_lanes l
        cross join lateral unnest(l.held_until) held (lease_until)
        where l.workspace_id is not null
          and is_leased(held.lease_until, :now)
      ),
      (:most::integer[])[4], (:whole::integer[])[4]
    ) as of_deliveries,
    -- Index received_files_due.
    saturated_tenants(
      array(
        select f.workspace_id
        from received_files f
        where f.next_due is not null
          and is_leased(f.lease_until, :now)
      ),
      (:most::integer[])[5], (:whole::integer[])[5]
    ) as of_files
)
select json_build_object(
  'nextDue', epoch_millis(least(
    (select n.due from next_lanes(saturated.of_lanes, null, null) n),
    (select n.due from next_expiry() n),
    (select n.due from next_test_messages() n),
    (select n.due from next_orphaned() n),
    (select n.due from next_linking(saturated.of_linking, null, null) n),
    (select n.due from next_reminders() n),
    (select n.due from next_campaigns() n),
    (select n.due from next_pauses() n),
    (select n.due from next_copies() n),
    (select n.due from next_read_marks(null, null) n),
    (select n.due from next_deliveries(saturated.of_deliveries) n),
    (select n.due from next_number_checks(saturated.of_checks, null, null) n),
    (select n.due from next_files(saturated.of_files, null, null) n)
  )),
  'inFlight', (
    select coalesce(json_agg(held order by held.attempt), '[]')
    from (
      select
        l.number_id as "numberId",
        format('message %s %s %s', l.number_id, l.lease, head_of(l)) as attempt
      from lanes l
      where is_leased(l.lease_until, :now)
      union all
      -- Index number_checks_due.
      select c.number_id, format('check %s %s', c.id, c.lease)
      from number_checks c
      where c.next_due is not null
        and is_leased(c.lease_until, :now)
      union all
      -- Index received_files_due.
      select f.number_id, format('file %s %s', f.received_message_id, f.lease)
      from received_files f
      where f.next_due is not null
        and is_leased(f.lease_until, :now)
    ) held
  ),
  'deliveringUntil', (
    select epoch_millis(max(held.until))
    from webhook_lanes l
    cross join lateral unnest(l.held_until) held (until)
  )
) as workload
from saturated

-- name: notify
select pg_notify(:channel, said.work) from unnest(:works::text[]) said (work)
