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
