-- Settles a claimed file of a received message: `p_file` null when it is due again at p_due; with `p_kept` its
-- bytes are kept. False, and nothing is written, once the lease is not held.
--
-- Locks: the message, the file, its record: the order of erasure.
--
-- Never null: answer
create function settle_received_file(
  p_received_id bigint,
  p_lease bigint,
  p_kept boolean,
  p_state text,
  p_file text,
  p_due timestamptz
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_media bigint;
begin
  perform
  from received_messages r
  where r.id = p_received_id
    and r.file is not null
  for no key update;
  if not found then
    return false;
  end if;
  select f.media_id
  into v_media
  from received_files f
  where f.received_message_id = p_received_id
    and f.lease = p_lease
    and f.lease_until is not null
  for no key update;
  if not found then
    return false;
  end if;
  if p_kept then
    update received_files f
    set source = null,
      next_due = null,
      lease_until = null
    where f.received_message_id = p_received_id;
    update received_messages r
    set file = p_file::json
    where r.id = p_received_id;
    return true;
  end if;
  if p_state is null then
    update received_files f
    set media_id = null,
      next_due = p_due,
      lease_until = null
    where f.received_message_id = p_received_id;
  else
    delete from received_files f
    where f.received_message_id = p_received_id;
    update received_messages r
    set file = (r.file::jsonb || jsonb_build_object('state', p_state))::json
    where r.id = p_received_id;
  end if;
  if v_media is not null then
    update media_files m
    set state = 'discarded'
    where m.id = v_media
      and m.state = 'received';
  end if;
  return true;
end
$$;
