-- Keeps what the file of a stored message is fetched with, and when that is wanted; null until its link is called.
create function add_received_file(p_id bigint, p_media text, p_source text, p_now timestamptz) returns void
language plpgsql
set search_path from current
as $$
begin
  insert into received_files (received_message_id, workspace_id, number_id, source, next_due, lease, wanted_at)
  select r.id, r.workspace_id, r.number_id, p_source, wanted.at, 0, wanted.at
  from received_messages r
  cross join lateral (
    -- Index received_messages_by_chat.
    select count(*) as messages
    from (
      select other.received_at
      from received_messages other
      where other.chat_id = r.chat_id
        and other.id <> r.id
      order by other.id desc
      limit 600
    ) latest
    where is_recent(latest.received_at, p_now)
  ) recent
  cross join lateral (
    select case when is_fetched_on_arrival('remote', p_media, recent.messages) then p_now end as at
  ) wanted
  where r.id = p_id;
end
$$;
