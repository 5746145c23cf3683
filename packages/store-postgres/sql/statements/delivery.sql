-- name: settle
-- No moment is named: no lease has run out, nothing is due, and any number may be in flight.
select from settle_and_claim_deliveries(
  :lane, :results, :deliveredAt, :delivery, :lease, :attemptedAt, :durationMillis, :responseStatus,
  :responseBody, :error, :nextAttemptAt, :stopSince, '-infinity', null, 0, 2147483647, 0, 0, '{}', '{}'
)
