-- Lists of messages, newest first: keyset by id, so that page 10,000 costs what page 1 does. Each list is a merge
-- of a few ordered scans, and each finds nothing but what belongs on the page: a filter that matches nothing
-- reads nothing, however many messages there are.
--
-- Ids are given out at acceptance and times read a little earlier, on several machines: filters by time allow for
-- two minutes of disorder, and still compare the times themselves.
--
-- The store writes the limit into the text: of a parameter the planner would have to assume a tenth of the table.

-- name: ofWorkspace
-- Index messages_by_workspace.
select shown.*
from messages m
cross join lateral shown_message(m, m.number_id) shown
where m.workspace_id = :workspaceId
  and m.mode = :mode
  and m.id < :before
  and m.created_at >= :since
  and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
  and m.created_at < :until
  and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
order by m.id desc
limit :limit

-- name: ofStates
-- Messages of a whole workspace in some states. The newest messages mostly hold a page of the states that are
-- common, and then it is done; those of a rare state are looked up number by number. An index of a workspace's
-- states would spare the second look, and cost every change of a message's state.
-- Indexes messages_by_workspace and numbers_ever_by_workspace.
with near as materialized (
  select m.id
  from (
    select m.id, m.state, m.send_at
    from messages m
    where m.workspace_id = :workspaceId
      and m.mode = :mode
      and m.id < :before
      and m.created_at >= :since
      and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
      and m.created_at < :until
      and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
    order by m.id desc
    limit 1000
  ) m
  where m.state = any (:states)
    and (
      m.state <> 'waiting'
      or (:queued and is_queued(m.send_at, :now))
      or (:scheduled and is_scheduled(m.send_at, :now))
    )
  order by m.id desc
  limit :limit
)
select shown.*
from (
  select near.id
  from near
  where (select count(*) from near) = :limit
  union all
  select far.id
  from (
    select either.id
    from (
      (
        -- Index messages_by_number_and_state.
        select m.id
        from numbers n
        cross join unnest(:ended::text[]) s (state)
        cross join lateral (
          select m.id
          from messages m
          where m.number_id = n.id
            and m.state = s.state
            and m.state <> 'waiting'
            and m.mode = :mode
            and m.id < :before
            and m.created_at >= :since
            and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
            and m.created_at < :until
            and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
          order by m.id desc
          limit :limit
        ) m
        where n.workspace_id = :workspaceId
        order by m.id desc
        limit :limit
      )
      union all
      (
        -- Index messages_waiting.
        select m.id
        from numbers n
        cross join lateral (
          select m.id
          from messages m
          where m.number_id = n.id
            and m.state = 'waiting'
            and ((:queued and is_queued(m.send_at, :now)) or (:scheduled and is_scheduled(m.send_at, :now)))
            and m.mode = :mode
            and m.id < :before
            and m.created_at >= :since
            and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
            and m.created_at < :until
            and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
          -- Of no index: one in the order of the ids holds every message.
          order by (m.id + 0) desc
          limit :limit
        ) m
        where (:queued or :scheduled)
          and n.workspace_id = :workspaceId
        order by m.id desc
        limit :limit
      )
    ) either
    order by either.id desc
    limit :limit
  ) far
  where (select count(*) from near) < :limit
) page
join messages m on m.id = page.id
cross join lateral shown_message(m, m.number_id) shown
order by m.id desc

-- name: ofNumbers
-- One scan for each state of each number: to filter the workspace's messages by number would read through those of
-- all others to find the few of a quiet one. Messages that wait are in an index of their own, in the order in which
-- they fall due, so that all of a number's are read: another one in the order of their ids would cost every
-- acceptance. Index numbers_ever_by_workspace: removed numbers are listed too.
select shown.*
from (
  select either.id
  from (
    (
      -- Index messages_by_number_and_state.
      select m.id
      from numbers n
      cross join unnest(:ended::text[]) s (state)
      cross join lateral (
        select m.id
        from messages m
        where m.number_id = n.id
          and m.state = s.state
          and m.state <> 'waiting'
          and m.mode = :mode
          and m.id < :before
          and m.created_at >= :since
          and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
          and m.created_at < :until
          and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
        order by m.id desc
        limit :limit
      ) m
      where n.workspace_id = :workspaceId
        and n.id = any (:numbers)
      order by m.id desc
      limit :limit
    )
    union all
    (
      -- Index messages_waiting.
      select m.id
      from numbers n
      cross join lateral (
        select m.id
        from messages m
        where m.number_id = n.id
          and m.state = 'waiting'
          and ((:queued and is_queued(m.send_at, :now)) or (:scheduled and is_scheduled(m.send_at, :now)))
          and m.mode = :mode
          and m.id < :before
          and m.created_at >= :since
          and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
          and m.created_at < :until
          and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
        -- Of no index: one in the order of the ids holds every message.
        order by (m.id + 0) desc
        limit :limit
      ) m
      where (:queued or :scheduled)
        and n.workspace_id = :workspaceId
          and n.id = any (:numbers)
      order by m.id desc
      limit :limit
    )
  ) either
  order by either.id desc
  limit :limit
) page
join messages m on m.id = page.id
cross join lateral shown_message(m, m.number_id) shown
order by m.id desc

-- name: ofPhone
-- One scan for each state of what went to that phone. Index messages_by_phone. Of some numbers' lists it reads what
-- the others sent to the same phone too.
select shown.*
from (
  select m.id
  from unnest(:states::text[]) s (state)
  cross join lateral (
    select m.id
    from messages m
    where m.workspace_id = :workspaceId
      and m.to_phone = :phone
      and m.state = s.state
      and (
        m.state <> 'waiting'
        or (:queued and is_queued(m.send_at, :now))
        or (:scheduled and is_scheduled(m.send_at, :now))
      )
      and (:numbers::bigint[] is null or m.number_id = any (:numbers))
      and m.mode = :mode
      and m.id < :before
      and m.created_at >= :since
      and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
      and m.created_at < :until
      and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
    order by m.id desc
    limit :limit
  ) m
  order by m.id desc
  limit :limit
) page
join messages m on m.id = page.id
cross join lateral shown_message(m, m.number_id) shown
order by m.id desc

-- name: ofReference
-- One scan for each state of what has that reference. Index messages_by_reference. With a phone or some numbers
-- it reads the other messages of the same reference too.
select shown.*
from (
  select m.id
  from unnest(:states::text[]) s (state)
  cross join lateral (
    select m.id
    from messages m
    where m.workspace_id = :workspaceId
      and m.reference = :reference
      and m.state = s.state
      and (
        m.state <> 'waiting'
        or (:queued and is_queued(m.send_at, :now))
        or (:scheduled and is_scheduled(m.send_at, :now))
      )
      and (:phone::text is null or m.to_phone = :phone)
      and (:numbers::bigint[] is null or m.number_id = any (:numbers))
      and m.mode = :mode
      and m.id < :before
      and m.created_at >= :since
      and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
      and m.created_at < :until
      and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
    order by m.id desc
    limit :limit
  ) m
  order by m.id desc
  limit :limit
) page
join messages m on m.id = page.id
cross join lateral shown_message(m, m.number_id) shown
order by m.id desc

-- name: ofError
-- What failed with that code. Index messages_by_error. With a phone, a reference or some numbers it reads the other
-- messages with the same code too.
select shown.*
from (
  select m.id
  from messages m
  where m.workspace_id = :workspaceId
    and m.error_code = :error
    and m.state = any (:ended::text[])
    and (:phone::text is null or m.to_phone = :phone)
    and (:reference::text is null or m.reference = :reference)
    and (:numbers::bigint[] is null or m.number_id = any (:numbers))
    and m.mode = :mode
    and m.id < :before
    and m.created_at >= :since
    and m.id >= (select message_id_at(:workspaceId, :mode, :since::timestamptz - interval '2 minutes'))
    and m.created_at < :until
    and m.id < (select message_id_at(:workspaceId, :mode, :until::timestamptz + interval '2 minutes'))
  order by m.id desc
  limit :limit
) page
join messages m on m.id = page.id
cross join lateral shown_message(m, m.number_id) shown
order by m.id desc
