-- Gives a message that could not be read what its copy says, and returns what its event is made of; no row for any
-- other one. For holders of the number's row in received_counters.
create function recover_received(
  p_number bigint,
  p_id bigint,
  p_address text,
  p_kind text,
  p_text text,
  p_content text,
  p_file text,
  p_quoted_id text,
  p_quote_text text
) returns table (
  sequence bigint, chat_id bigint, chat_type text, chat_name text, phone text, lid text, user_id text, username text,
  name text, quoted_received_id bigint, quoted_message_id bigint, sent_at timestamptz, received_at timestamptz,
  reactions json
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  return query
  with before as materialized (
    select shown.*
    from received_messages r
    cross join lateral shown_received(r) shown
    where r.id = p_id
      and is_recovered(r)
  ),
  quoted as materialized (
    select quoted.received_id, quoted.message_id
    from before
    cross join lateral find_quoted(p_number, before.chat_id, p_quoted_id) quoted
  ),
  recovered as (
    update received_messages r
    set address = p_address,
      kind = p_kind,
      text = p_text,
      content = p_content::json,
      file = p_file::json,
      quoted_received_id = quoted.received_id,
      quoted_message_id = quoted.message_id,
      quote_text = p_quote_text
    from quoted
    where r.id = p_id
  )
  select
    before.sequence, before.chat_id, before.chat_type, before.chat_name, before.phone, before.lid, before.user_id,
    before.username, before.name, quoted.received_id, quoted.message_id, before.sent_at, before.received_at,
    before.reactions
  from before
  cross join quoted;
end
$$;
