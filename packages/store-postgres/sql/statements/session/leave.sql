with fence as materialized (
  select
  from number_shards f
  where f.shard = :shard
    and f.term = :term
  for share
),
leaving as (
  update sessions s
  set leaving_at = :now
  where s.number_id = :numberId
    and s.leaving_at is null
    and (:shard is null or exists (select from fence))
)
select (:shard is null or exists (select from fence)) as written
