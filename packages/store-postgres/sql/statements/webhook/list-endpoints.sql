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
