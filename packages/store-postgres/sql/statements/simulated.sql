-- name: behaviour
select b.send, b.error_message, b.latency_millis, b.groups
from simulated_behaviours b
where b.number_id = :numberId

-- name: setBehaviour
insert into simulated_behaviours (number_id, send, error_message, latency_millis, groups)
values (:numberId, :send, :errorMessage, :latencyMillis, :groups)
on conflict (number_id) do update
  set send = excluded.send,
    error_message = excluded.error_message,
    latency_millis = excluded.latency_millis,
    groups = excluded.groups

-- name: registered
select phones from simulated_registered

-- name: setRegistered
insert into simulated_registered (phones)
values (:phones)
on conflict (singleton) do update
set phones = excluded.phones

-- name: forgetRegistered
delete from simulated_registered

-- name: receive
-- The copy and the behaviour that follows it, in one commit.
with followed as (
  insert into simulated_behaviours (number_id, send, error_message, latency_millis, groups)
  select :numberId, :send, :errorMessage, :latencyMillis, :groups
  where :follows
  on conflict (number_id) do update
  set send = excluded.send,
    error_message = excluded.error_message,
    latency_millis = excluded.latency_millis,
    groups = excluded.groups
)
insert into simulated_sent (transport_id, number_id, recipient, text, media, at, quote)
values (:transportId, :numberId, :recipient, :text, :media, :at, :quote)
on conflict (number_id, transport_id) do nothing
returning id

-- name: written
-- Never null: id, number_id, mode, from_me, remote_id, chat_type, text
select
  r.id, r.number_id, r.mode, r.from_me, r.remote_id, shown.chat_type, c.group_id,
  shown.chat_name, shown.phone, shown.lid, shown.user_id, shown.username, shown.name,
  shown.text
from received_messages r
cross join lateral shown_received(r) shown
join chats c on c.id = r.chat_id
where r.id = :id

-- name: sent
-- The primary key, newest first.
select
  s.id, m.id as message_id, s.transport_id, s.number_id, n.workspace_id, s.recipient, s.text,
  s.media, s.at, s.quote
from simulated_sent s
join numbers n on n.id = s.number_id
left join messages m on m.transport_id = s.transport_id and m.number_id = s.number_id
where n.workspace_id = coalesce(:workspaceId, n.workspace_id)
  and s.recipient = coalesce(:recipient, s.recipient)
  and s.id < :before
order by s.id desc
limit :limit

-- name: sentOfNumber
-- Index simulated_sent_by_number.
select
  s.id, m.id as message_id, s.transport_id, s.number_id, n.workspace_id, s.recipient, s.text,
  s.media, s.at, s.quote
from simulated_sent s
join numbers n on n.id = s.number_id
left join messages m on m.transport_id = s.transport_id and m.number_id = s.number_id
where s.number_id = :numberId
  and n.workspace_id = coalesce(:workspaceId, n.workspace_id)
  and s.recipient = coalesce(:recipient, s.recipient)
  and s.id < :before
order by s.id desc
limit :limit
