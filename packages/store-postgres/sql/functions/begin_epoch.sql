-- The new epoch, or null when another has begun. Sequences move on from the greatest of what they gave out,
-- what their tables hold (a replica may lag behind in sequences) and p_above.
--
-- Locks: the epochs, campaigns by id, then all lanes by id as everywhere; only later statements look at messages.
--
-- Never null: answer
create function begin_epoch(
  p_schema text,
  p_tables text[],
  p_epoch integer,
  p_step bigint,
  p_above bigint,
  p_now timestamptz
) returns integer
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_epoch integer;
  v_sequence record;
  v_moved bigint;
  v_after bigint;
begin
  lock table store_epochs in exclusive mode;
  select coalesce(max(e.epoch), 1)
  into v_epoch
  from store_epochs e;
  if v_epoch <> p_epoch then
    return null;
  end if;

  for v_sequence in
    select
      s.oid::regclass::text as sequence_name,
      t.oid::regclass::text as table_name,
      t.relname as own_name,
      a.attname as column_name
    from pg_catalog.pg_depend d
    join pg_catalog.pg_class s on s.oid = d.objid
    join pg_catalog.pg_class t on t.oid = d.refobjid
    join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where d.classid = 'pg_catalog.pg_class'::regclass
      and d.refclassid = 'pg_catalog.pg_class'::regclass
      and d.deptype in ('a', 'i')
      and s.relkind = 'S'
      and t.relnamespace = to_regnamespace(p_schema)
      and t.relname = any (p_tables)
  loop
    execute format(
      'select setval(%L, greatest(nextval(%L), (select coalesce(max(%I), 0) from %s), %s) + %s)',
      v_sequence.sequence_name, v_sequence.sequence_name,
      v_sequence.column_name, v_sequence.table_name, p_above, p_step
    )
    into v_moved;
    if v_sequence.own_name = 'messages' then
      v_after := v_moved;
    end if;
  end loop;

  -- Index campaigns_open.
  perform
  from campaigns c
  where c.removed_at is null
    and not has_campaign_ended(c)
  order by c.id
  for no key update;
  perform
  from lanes l
  order by l.number_id
  for no key update;

  -- Index messages_waiting. What is in the hands of a transport stays the first of its lane.
  update messages m
  set due_at = 'infinity'
  from lanes l
  where l.number_id = m.number_id
    and l.removed_at is null
    and m.state = 'waiting'
    and not is_held(m)
    and not is_in_flight(m, l);
  -- What waits for new chats is held like all others. Index messages_awaiting_new_chats.
  update messages m
  set awaits_new_chats = null
  where m.awaits_new_chats;

  -- The next claim gives up what may have left.
  update lanes l
  set lease = l.lease + p_step,
    lease_until = null,
    head_id = case when may_have_left(l) then head_of(l) end,
    turn = null,
    turn_due = null,
    -- As many as end a message.
    interruptions = case when may_have_left(l) then 3 else 0 end,
    limited_until = null,
    next_due = null
  where l.removed_at is null;
  update lanes l
  set next_due = next_due_changed(
      l,
      holds_until(l, stopped_until(l.disabled, l.paused_until), may_have_left(l), is_open(l)),
      (select first.due_at from first_to_leave(l, p_now) first)
    )
  where l.removed_at is null
    and may_have_left(l);
  update lanes l
  set lease = l.lease + p_step
  where l.removed_at is not null;

  -- A number without a message in the older state may have received some.
  insert into received_counters (number_id, workspace_id, sequence, stored)
  select l.number_id, l.workspace_id, p_step, 0
  from lanes l
  where l.removed_at is null
  on conflict (number_id) do update
  set sequence = received_counters.sequence + p_step;

  update campaigns c
  set state = 'paused',
    state_reason = 'restored',
    asks_from_row = true,
    is_holding = true,
    running_since = null,
    look_at = p_now,
    woken_at = null,
    awaits = '{}',
    awaits_room = '{}',
    awaits_given_back = '{}',
    awaits_allowance = false,
    revision = c.revision + 1
  where c.removed_at is null
    and not has_campaign_ended(c)
    and c.state <> 'draft';

  update reminders r
  set held_run_at = r.next_run_at,
    next_run_at = null,
    revision = r.revision + 1
  where r.next_run_at <= p_now;

  insert into store_epochs (epoch, after_message, began_at)
  values (v_epoch + 1, v_after, p_now);
  return v_epoch + 1;
end
$$;
