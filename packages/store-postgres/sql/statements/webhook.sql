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
  and a.id < :before
order by a.id desc
limit :limit

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
