-- Stores messages as unreadable once their wait for a copy has ended, the longest waiting first. One row for each wait
-- that ended, with what its event is made of; announce_received writes the events in the same transaction.
--
-- Locks: the numbers' rows in received_counters. A number that another transaction has is passed over: in whatever
-- order the waits end, nothing waits for a lock.
--
-- Never null: became, number_id, mode, from_me, sent_at
create function end_copy_waits(p_now timestamptz, p_limit integer)
returns table (
  number_id bigint,
  mode text,
  from_me boolean,
  sent_at timestamptz,
  id bigint,
  became text,
  workspace_id bigint,
  sequence bigint,
  number_phone text,
  platform text,
  chat_id bigint,
  chat_type text,
  chat_name text,
  phone text,
  lid text,
  user_id text,
  username text,
  name text
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_due bigint;
  v_wait copy_waits;
begin
  for v_due in
    -- Index copy_waits_ending.
    select w.id
    from copy_waits w
    join received_counters c on c.number_id = w.number_id
    where w.waits_until <= p_now
    order by w.waits_until, w.number_id, w.id
    limit p_limit
    for no key update of c skip locked
  loop
    -- A copy may have come before the lock.
    delete from copy_waits w
    where w.id = v_due
    returning w.*
    into v_wait;
    continue when v_wait.id is null;

    number_id := v_wait.number_id;
    mode := v_wait.mode;
    from_me := v_wait.from_me;
    sent_at := v_wait.sent_at;
    id := null;
    became := 'dropped';
    if exists (
      select
      from numbers n
      join conversation_settings s on s.workspace_id = n.workspace_id
        and v_wait.told_at >= s.since
      where n.id = v_wait.number_id
    ) then
      select
        r.id, r.became, r.workspace_id, r.sequence, r.number_phone, r.platform, r.chat_id, r.chat_type, r.chat_name,
        r.phone, r.lid, r.user_id, r.username, r.name
      into
        id, became, workspace_id, sequence, number_phone, platform, chat_id, chat_type, chat_name, phone, lid,
        user_id, username, name
      from receive_messages(
        v_wait.number_id, p_now, array[v_wait.remote_id], '{}', array[v_wait.mode], array[v_wait.from_me],
        array[v_wait.group_id], array[v_wait.group_name], array[v_wait.has_person], array[v_wait.phone],
        array[v_wait.lid], array[v_wait.user_id], array[v_wait.username], array[v_wait.name], array['unreadable'],
        array[''], '{}', '{}', '{}', '{}', '{}', array[v_wait.sent_at], '{}', null
      ) r;
    end if;
    return next;
  end loop;
end
$$;
