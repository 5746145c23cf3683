select
  s.number_id, n.platform, n.status, l.removed_at is not null as removed, s.leaving_at,
  l.pause_reason, n.status_reason, n.proxy_url
from sessions s
join numbers n on n.id = s.number_id
join lanes l on l.number_id = s.number_id
order by s.number_id
