-- name: get
select
  json_build_object(
    'id', e.id, 'workspaceId', e.workspace_id, 'mode', e.mode, 'keyId', e.key_id, 'url', e.url,
    'description', e.description, 'events', e.events, 'secretSalt', e.secret_salt,
    'secretLast4', e.secret_last4, 'createdAt', epoch_millis(e.created_at),
    'firstSecretLast4', e.first_secret_last4, 'disabledReason', e.disabled_reason
  ) as endpoint,
  (
    select json_build_object(
      'id', a.id, 'eventId', a.event_id, 'type', a.type, 'attempt', a.attempt,
      'attemptedAt', epoch_millis(a.attempted_at), 'responseStatus', a.response_status,
      'error', a.error, 'durationMillis', a.duration_millis,
      'nextAttemptAt', epoch_millis(a.next_attempt_at)
    )
    from webhook_attempts a
    where a.endpoint_id = e.id
    order by a.id desc
    limit 1
  ) as last_attempt
from webhook_endpoints e
where e.workspace_id = :workspaceId
  and (:mode::text is null or e.mode = :mode)
  and e.removed_at is null
  and e.id = :id

-- name: made
select
  json_build_object(
    'id', e.id, 'workspaceId', e.workspace_id, 'mode', e.mode, 'keyId', e.key_id, 'url', e.url,
    'description', e.description, 'events', e.events, 'secretSalt', e.secret_salt,
    'secretLast4', e.secret_last4, 'createdAt', epoch_millis(e.created_at),
    'firstSecretLast4', e.first_secret_last4, 'disabledReason', e.disabled_reason
  ) as endpoint,
  e.original
from webhook_endpoints e
where e.id = :id

-- name: list
-- Index webhook_endpoints_by_workspace.
select
  json_build_object(
    'id', e.id, 'workspaceId', e.workspace_id, 'mode', e.mode, 'keyId', e.key_id, 'url', e.url,
    'description', e.description, 'events', e.events, 'secretSalt', e.secret_salt,
    'secretLast4', e.secret_last4, 'createdAt', epoch_millis(e.created_at),
    'firstSecretLast4', e.first_secret_last4, 'disabledReason', e.disabled_reason
  ) as endpoint,
  (
    select json_build_object(
      'id', a.id, 'eventId', a.event_id, 'type', a.type, 'attempt', a.attempt,
      'attemptedAt', epoch_millis(a.attempted_at), 'responseStatus', a.response_status,
      'error', a.error, 'durationMillis', a.duration_millis,
      'nextAttemptAt', epoch_millis(a.next_attempt_at)
    )
    from webhook_attempts a
    where a.endpoint_id = e.id
    order by a.id desc
    limit 1
  ) as last_attempt
from webhook_endpoints e
where e.workspace_id = :workspaceId
  and (:mode::text is null or e.mode = :mode)
  and e.removed_at is null
  and (:stopped or is_running(e))
order by e.id

-- name: update
-- Locks: the lane, then the endpoint.
with lane as materialized (
  select l.endpoint_id
  from webhook_lanes l
  where l.endpoint_id = :id
  for no key update
),
updated as (
  update webhook_endpoints e
  set original = coalesce(
      e.original,
      jsonb_build_object('url', e.url, 'events', e.events, 'description', e.description)
    ),
    url = coalesce(:url, e.url),
    events = coalesce(:events, e.events),
    description = coalesce(:description, e.description)
  from lane
  where e.id = lane.endpoint_id
    and e.workspace_id = :workspaceId
    and (:mode::text is null or e.mode = :mode)
    and e.removed_at is null
  returning e.*
),
told as (
  update webhook_lanes l
  set gets_received = names_received(updated.events)
  from updated
  where l.endpoint_id = updated.id
    and l.gets_received is distinct from names_received(updated.events)
)
select json_build_object(
  'id', updated.id, 'workspaceId', updated.workspace_id, 'mode', updated.mode,
  'keyId', updated.key_id, 'url', updated.url, 'description', updated.description,
  'events', updated.events, 'secretSalt', updated.secret_salt, 'secretLast4', updated.secret_last4,
  'createdAt', epoch_millis(updated.created_at), 'firstSecretLast4', updated.first_secret_last4,
  'disabledReason', updated.disabled_reason
) as endpoint,
  (
    select json_build_object(
      'id', a.id, 'eventId', a.event_id, 'type', a.type, 'attempt', a.attempt,
      'attemptedAt', epoch_millis(a.attempted_at), 'responseStatus', a.response_status,
      'error', a.error, 'durationMillis', a.duration_millis,
      'nextAttemptAt', epoch_millis(a.next_attempt_at)
    )
    from webhook_attempts a
    where a.endpoint_id = updated.id
    order by a.id desc
    limit 1
  ) as last_attempt
from updated

-- name: rotate
with rotated as (
  update webhook_endpoints e
  set secret_salt = :secretSalt,
    secret_last4 = :secretLast4
  where e.workspace_id = :workspaceId
  and (:mode::text is null or e.mode = :mode)
  and e.removed_at is null
    and e.id = :id
  returning e.*
)
select json_build_object(
  'id', rotated.id, 'workspaceId', rotated.workspace_id, 'mode', rotated.mode,
  'keyId', rotated.key_id, 'url', rotated.url, 'description', rotated.description,
  'events', rotated.events, 'secretSalt', rotated.secret_salt, 'secretLast4', rotated.secret_last4,
  'createdAt', epoch_millis(rotated.created_at), 'firstSecretLast4', rotated.first_secret_last4,
  'disabledReason', rotated.disabled_reason
) as endpoint,
  (
    select json_build_object(
      'id', a.id, 'eventId', a.event_id, 'type', a.type, 'attempt', a.attempt,
      'attemptedAt', epoch_millis(a.attempted_at), 'responseStatus', a.response_status,
      'error', a.error, 'durationMillis', a.duration_millis,
      'nextAttemptAt', epoch_millis(a.next_attempt_at)
    )
    from webhook_attempts a
    where a.endpoint_id = rotated.id
    order by a.id desc
    limit 1
  ) as last_attempt
from rotated

-- name: remove
select removed.count
from remove_webhook_endpoints(
  array(select e.id from webhook_endpoints e where e.workspace_id = :workspaceId
  and (:mode::text is null or e.mode = :mode)
  and e.removed_at is null and e.id = :id), :now
) removed (count)
where removed.count = 1

-- name: attempts
-- Index webhook_attempts_by_endpoint.
select
  json_build_object(
    'id', a.id, 'eventId', a.event_id, 'type', a.type, 'attempt', a.attempt,
    'attemptedAt', epoch_millis(a.attempted_at), 'responseStatus', a.response_status,
    'error', a.error, 'durationMillis', a.duration_millis,
    'nextAttemptAt', epoch_millis(a.next_attempt_at)
  ) as attempt
from webhook_attempts a
where a.endpoint_id = :id
  and (:types::text[] is null or a.type = any (:types))
  and (:since::timestamptz is null or a.attempted_at >= :since)
  and (:until::timestamptz is null or a.attempted_at < :until)
  and a.id < :before
order by a.id desc
limit :limit

-- name: failedAttempts
-- Index webhook_attempts_failed.
select
  json_build_object(
    'id', a.id, 'eventId', a.event_id, 'type', a.type, 'attempt', a.attempt,
    'attemptedAt', epoch_millis(a.attempted_at), 'responseStatus', a.response_status,
    'error', a.error, 'durationMillis', a.duration_millis,
    'nextAttemptAt', epoch_millis(a.next_attempt_at)
  ) as attempt
from webhook_attempts a
where a.endpoint_id = :id
  and (:types::text[] is null or a.type = any (:types))
  and (:since::timestamptz is null or a.attempted_at >= :since)
  and (:until::timestamptz is null or a.attempted_at < :until)
  and a.error is not null
  and a.id < :before
order by a.id desc
limit :limit

-- name: attempt
select
  json_build_object(
    'id', a.id, 'eventId', a.event_id, 'type', a.type, 'attempt', a.attempt,
    'attemptedAt', epoch_millis(a.attempted_at), 'responseStatus', a.response_status,
    'error', a.error, 'durationMillis', a.duration_millis,
    'nextAttemptAt', epoch_millis(a.next_attempt_at)
  ) as attempt,
  coalesce(a.body, o.body) as request_body, a.response_body
from webhook_attempts a
left join outbox o on o.id = a.outbox_id
where a.id = :attempt
  and a.endpoint_id = :id

-- name: undelivered
-- Index outbox_by_workspace, webhook_attempts_by_endpoint. A difference of two sets: it grows with the
-- endpoint's 30 days, and not with their product. Both are read at one moment.
-- Never null: seen
with missed as (
  (
    select o.id
    from outbox o
    join webhook_endpoints e on e.workspace_id = o.workspace_id
    where e.id = :id
      and e.workspace_id = :workspaceId
      and (:mode::text is null or e.mode = :mode)
      and e.removed_at is null
      and can_be_redelivered(o, e)
      and (is_message_event(o.type) or (select has_conversations(:workspaceId)))
      and o.created_at >= :since
  )
  except
  (
    select a.outbox_id
    from webhook_attempts a
    where a.endpoint_id = :id
      and a.error is null
      and a.outbox_id is not null
  )
),
earliest as (
  select missed.id
  from missed
  order by missed.id
  limit :limit
)
select
  array(select earliest.id from earliest order by earliest.id) as positions,
  coalesce((select max(a.id) from webhook_attempts a where a.endpoint_id = :id), 0)::bigint as seen

-- name: callbackAttempts
-- Index webhook_attempts_of_callbacks.
select
  json_build_object(
    'id', a.id, 'eventId', a.event_id, 'type', a.type, 'attempt', a.attempt,
    'attemptedAt', epoch_millis(a.attempted_at), 'responseStatus', a.response_status,
    'error', a.error, 'durationMillis', a.duration_millis,
    'nextAttemptAt', epoch_millis(a.next_attempt_at), 'url', a.url
  ) as attempt
from webhook_attempts a
where a.workspace_id = :id
  and a.id < :before
order by a.id desc
limit :limit

-- name: forgetAttempts
-- Ids grow with time: what is old is at the front.
with oldest as (
  select a.id, a.attempted_at
  from webhook_attempts a
  order by a.id
  limit :limit
)
delete from webhook_attempts a
using oldest
where a.id = oldest.id
  and oldest.attempted_at < :before
returning a.id
