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
