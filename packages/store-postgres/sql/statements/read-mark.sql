-- name: claim
-- Index chats_mark_due; of each chat the messages of others that the remote does not know as read.
-- Never null: id, number_id, platform, read_up_to, messages
with due as materialized (
  select c.id, c.mark_due
  from chats c
  join lanes l on l.number_id = c.number_id
  join conversation_settings s on s.workspace_id = c.workspace_id
  where c.mark_due <= :now
    and is_open_chat(c)
    and l.connected
    and l.removed_at is null
    and is_owned(c.number_id, :of::bigint, :shards::bigint[])
  order by c.mark_due, c.id
  limit :limit
  for no key update of c skip locked
),
claimed as (
  update chats c
  set mark_due = :until
  from due
  where c.id = due.id
  returning c.id, c.number_id, c.read_up_to, c.marked_up_to, c.group_id, c.person_id, due.mark_due
)
select
  c.id, c.number_id, n.platform, c.read_up_to, c.group_id, p.phone, p.lid, p.user_id, p.username, p.name,
  (
    select coalesce(
      json_agg(json_build_object('remoteId', unmarked.remote_id, 'address', unmarked.address) order by unmarked.id desc), '[]'
    )
    from (
      select r.id, r.remote_id, r.address
      from received_messages r
      where r.chat_id = c.id
        and r.id > coalesce(c.marked_up_to, 0)
        and r.id <= c.read_up_to
        and not r.from_me
      order by r.id desc
      limit :most
    ) unmarked
  ) as messages
from claimed c
join numbers n on n.id = c.number_id
left join people p on p.id = c.person_id
order by c.mark_due, c.id

-- name: settle
update chats c
set marked_up_to = :upTo,
  marked_at = :at,
  mark_due = case when c.read_up_to > :upTo then c.mark_due end
where c.id = :chatId
  and c.mark_due is not null

-- name: postpone
update chats c
set mark_due = :until
where c.id = :chatId
  and c.mark_due is not null

-- name: ofNumber
-- Index chats_by_number. For the emulator alone.
-- Never null: marked_up_to, marked_at
select c.id, c.marked_up_to, c.marked_at
from chats c
where c.number_id = :numberId
  and is_open_chat(c)
  and c.marked_at is not null
  and c.marked_up_to is not null
order by c.marked_at desc, c.id desc
