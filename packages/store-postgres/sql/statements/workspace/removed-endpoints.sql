-- Index webhook_endpoints_to_erase.
with gone as materialized (
  select e.id
  from webhook_endpoints e
  where e.removed_at < :before
    and e.removed_at is not null
    and e.url <> ''
  limit :limit
)
update webhook_endpoints e
set url = '',
  description = '',
  secret_salt = '',
  secret_last4 = '',
  first_secret_last4 = ''
from gone
where e.id = gone.id
returning e.id
