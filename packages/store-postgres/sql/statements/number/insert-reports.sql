insert into connection_reports (
  reported_at, number_id, state, reason, since, last_seen_at, reconnects
)
select :now, r.number_id, r.state, r.reason, r.since, r.last_seen_at, r.reconnects
from unnest(
  :p_number_id, :p_state, :p_reason, :p_since, :p_last_seen_at, :p_reconnects
) r (number_id, state, reason, since, last_seen_at, reconnects)
join numbers n on n.id = r.number_id
order by r.number_id
on conflict (number_id) do update
set reported_at = excluded.reported_at,
  number_id = excluded.number_id, state = excluded.state, reason = excluded.reason,
  since = excluded.since, last_seen_at = excluded.last_seen_at, reconnects = excluded.reconnects
