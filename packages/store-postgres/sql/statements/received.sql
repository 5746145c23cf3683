-- Received messages, and chats: keyset, as lists of messages.

-- name: ofWorkspace
-- Index received_messages_by_workspace.
select shown.*
from received_messages r
cross join lateral shown_received(r) shown
where r.workspace_id = :workspaceId
  and r.mode = :mode
  and r.id < :before
  and (:kind::text is null or r.kind = :kind)
  and r.received_at >= :since
  and r.received_at < :until
order by r.id desc
limit :limit

-- name: ofNumbers
-- Index received_messages_by_number.
select found.*
from unnest(:numbers::bigint[]) n (id)
cross join lateral (
  select shown.*
  from received_messages r
  cross join lateral shown_received(r) shown
  where r.number_id = n.id
    and r.workspace_id = :workspaceId
    and r.mode = :mode
    and r.id < :before
    and (:kind::text is null or r.kind = :kind)
    and r.received_at >= :since
    and r.received_at < :until
  order by r.id desc
  limit :limit
) found
order by found.id desc
limit :limit

-- name: ofChat
-- Index received_messages_by_chat.
select shown.*
from received_messages r
cross join lateral shown_received(r) shown
where r.chat_id = coalesce((select c.merged_into from chats c where c.id = :chatId), :chatId)
  and r.workspace_id = :workspaceId
  and r.mode = :mode
  and (:numbers::bigint[] is null or r.number_id = any (:numbers))
  and r.id < :before
  and (:kind::text is null or r.kind = :kind)
  and r.received_at >= :since
  and r.received_at < :until
order by r.id desc
limit :limit

-- name: after
-- Index received_messages_by_sequence.
select shown.*
from received_messages r
cross join lateral shown_received(r) shown
where r.number_id = :numberId
  and r.workspace_id = :workspaceId
  and r.mode = :mode
  and (:numbers::bigint[] is null or r.number_id = any (:numbers))
  and r.sequence > :after
  and (:kind::text is null or r.kind = :kind)
order by r.sequence
limit :limit

-- name: get
select shown.*
from received_messages r
cross join lateral shown_received(r) shown
where r.id = :id
  and r.workspace_id = :workspaceId
  and r.mode = :mode
  and (:numbers::bigint[] is null or r.number_id = any (:numbers))

-- name: change
-- For holders of the number's row in received_counters.
update received_messages r
set text = :text,
  content = :content::text::json,
  file = :file::text::json,
  edited_at = :editedAt,
  revoked_at = :revokedAt
where r.id = :id

-- name: chats
-- Index chats_by_activity.
select shown.*
from chats c
cross join lateral shown_chat(c) shown
where c.workspace_id = :workspaceId
  and c.mode = :mode
  and is_open_chat(c)
  and c.activity < :before
  and (:unread::boolean is null or (c.unread > 0) = :unread)
order by c.activity desc
limit :limit

-- name: chatsOfNumbers
-- Index chats_by_number.
select found.*
from unnest(:numbers::bigint[]) n (id)
cross join lateral (
  select shown.*
  from chats c
  cross join lateral shown_chat(c) shown
  where c.number_id = n.id
    and c.workspace_id = :workspaceId
    and c.mode = :mode
    and is_open_chat(c)
    and c.activity < :before
    and (:unread::boolean is null or (c.unread > 0) = :unread)
  order by c.activity desc
  limit :limit
) found
order by found.activity desc
limit :limit

-- name: chatsOfPhone
-- One for each number that knows the phone. Indexes numbers_by_workspace, people_by_phone and chats_by_person.
select shown.*
from numbers n
join people p on p.number_id = n.id
  and p.phone = :phone
join chats c on c.person_id = p.id
cross join lateral shown_chat(c) shown
where n.workspace_id = :workspaceId
  and n.removed_at is null
  and c.mode = :mode
  and (:numbers::bigint[] is null or n.id = any (:numbers))
  and is_open_chat(c)
  and c.activity < :before
  and (:unread::boolean is null or (c.unread > 0) = :unread)
order by c.activity desc
limit :limit

-- name: chat
select shown.*
from chats c
cross join lateral shown_chat(c) shown
where c.id = :id
  and c.workspace_id = :workspaceId
  and c.mode = :mode
  and (:numbers::bigint[] is null or c.number_id = any (:numbers))

-- name: quotedReceived
select r.remote_id, r.from_me, shown.phone, shown.lid, shown.user_id, shown.username, shown.name, r.text, r.sent_at
from received_messages r
cross join lateral shown_received(r) shown
where r.id = :id
  and r.number_id = :numberId
  and r.revoked_at is null

-- name: quotedSent
select m.transport_id, m.text, m.sent_at
from messages m
where m.id = :id
  and m.number_id = :numberId
  and has_left(m)

-- name: entries
-- Indexes received_messages_by_chat_and_time, chats_merged and messages_by_chat: of each a page.
-- Never null: at, is_sent, id
(
  select r.received_at as at, false as is_sent, r.id
  from received_messages r
  join conversation_settings s on s.workspace_id = r.workspace_id
    and r.received_at >= s.since
  where r.chat_id = :chatId
    and (r.received_at, r.id) < (:at, :receivedBefore)
  order by r.received_at desc, r.id desc
  limit :limit
)
union all
(
  select found.sent_at, true, found.id
  from unnest(array(select c.id from chats c where c.id = :chatId or c.merged_into = :chatId)) of_chat (id)
  cross join lateral (
    select m.sent_at, m.id
    from messages m
    where m.chat_id = of_chat.id
      and (m.sent_at, m.id) < (:at, :sentBefore)
    order by m.sent_at desc, m.id desc
    limit :limit
  ) found
  order by found.sent_at desc, found.id desc
  limit :limit
)
order by at desc, is_sent desc, id desc
limit :limit

-- name: byIds
select shown.*
from received_messages r
cross join lateral shown_received(r) shown
where r.id = any (:ids::bigint[])
