-- Adds to the rows of hours, and moves the place of a stream on, in one commit. False, with nothing written,
-- when another worker has moved it meanwhile. Hours of deleted workspaces are left out: what erases those
-- may have come by already.
--
-- Locks: the place, so that two workers count one after the other; then the rows in the order of their key.
--
-- Never null: answer
create function count_figures(p_stream text, p_from bigint, p_to bigint, p_hours jsonb) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  update figure_places p
  set position = p_to
  where p.stream = p_stream
    and p.position = p_from;
  if not found then
    return false;
  end if;

  insert into hourly_figures as present (
    workspace_id, mode, hour, accepted, sent, failed, expired, cancelled, deliveries,
    deliveries_failed, failures, waits
  )
  select
    added.workspace_id, added.mode, added.hour, added.accepted, added.sent, added.failed,
    added.expired, added.cancelled, added.deliveries, added.deliveries_failed, added.failures,
    added.waits
  from jsonb_to_recordset(p_hours -> 'rows') added (
    workspace_id bigint, mode text, hour timestamptz, accepted bigint, sent bigint, failed bigint,
    expired bigint, cancelled bigint, deliveries bigint, deliveries_failed bigint, failures jsonb,
    waits bigint[]
  )
  join workspaces w on w.id = added.workspace_id
    and w.deleted_at is null
  order by added.workspace_id, added.mode, added.hour
  on conflict (workspace_id, mode, hour) do update
  set accepted = present.accepted + excluded.accepted,
    sent = present.sent + excluded.sent,
    failed = present.failed + excluded.failed,
    expired = present.expired + excluded.expired,
    cancelled = present.cancelled + excluded.cancelled,
    deliveries = present.deliveries + excluded.deliveries,
    deliveries_failed = present.deliveries_failed + excluded.deliveries_failed,
    failures = added_counts(present.failures, excluded.failures),
    waits = added_elements(present.waits, excluded.waits);
  return true;
end
$$;
