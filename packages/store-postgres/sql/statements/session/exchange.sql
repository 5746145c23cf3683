-- Of two that would exchange the same credentials the second finds the row changed, or there.
with present as (
  select l.number_id
  from lanes l
  where l.number_id = :numberId
    and l.removed_at is null
),
begun as (
  insert into sessions (number_id, credentials)
  select p.number_id, :credentials
  from present p
  where :before is null
    and :credentials is not null
  on conflict (number_id) do nothing
  returning number_id
),
changed as (
  update sessions s
  set credentials = :credentials, leaving_at = null
  from present p
  where s.number_id = p.number_id
    and s.credentials = :before
    and :credentials is not null
  returning s.number_id
),
wiped as (
  delete from sessions s
  where s.number_id = :numberId
    and s.credentials = :before
    and :credentials is null
  returning s.number_id
),
dropped as (
  delete from session_keys k
  using changed
  where k.number_id = changed.number_id
)
select
  exists (select from begun)
  or exists (select from changed)
  or exists (select from wiped)
  as written
