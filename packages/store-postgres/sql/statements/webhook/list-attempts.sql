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
