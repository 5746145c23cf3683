-- Erases what is known of the files of received messages; their bytes are left over. For holders of their
-- numbers' rows in received_counters.
--
-- Locks: the files, then their records by id.
create function erase_received_files(p_ids bigint[]) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_media bigint[];
begin
  with gone as (
    delete from received_files f
    where f.received_message_id = any (p_ids)
    returning f.media_id
  )
  select array_agg(gone.media_id)
  into v_media
  from gone;
  if v_media is not null then
    update media_files m
    set state = 'deleted'
    where m.id = any (v_media)
      and m.state = 'received';
  end if;
end
$$;
