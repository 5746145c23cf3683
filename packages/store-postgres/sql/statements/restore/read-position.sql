-- One statement, so one snapshot.
select json_build_object(
  'epoch', (select coalesce(max(e.epoch), 1) from store_epochs e),
  'messages', json_build_object(
    'given', greatest(
      coalesce(
        pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I', :schema, 'messages'), 'id')::regclass),
        0
      ),
      (select coalesce(max(given.id), 0) from messages given)
    ),
    'highest', (select coalesce(max(highest.id), 0) from messages highest)
  ),
  'events', json_build_object(
    'given', greatest(
      coalesce(
        pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I', :schema, 'outbox'), 'id')::regclass),
        0
      ),
      (select coalesce(max(given.id), 0) from outbox given)
    ),
    'highest', (select coalesce(max(highest.id), 0) from outbox highest)
  ),
  'server', pg_postmaster_start_time()::text,
  'risks', array_remove(
    array[
      case when current_setting('synchronous_commit') = 'off' then 'asynchronous_commit' end,
      case
        when exists (select from pg_stat_replication)
          and (
            current_setting('synchronous_standby_names') = ''
            or current_setting('synchronous_commit') = 'local'
          )
        then 'asynchronous_standby'
      end
    ],
    null
  ),
  'missing', (
    select min(asked.id)
    from unnest(:accepted::bigint[]) asked (id)
    where not exists (
      select
      from messages m
      where m.id = asked.id
    )
  ),
  'waitsAgain', (
    select min(m.id)
    from messages m
    where m.id = any (:ended)
      and is_waiting(m)
  )
) as position
