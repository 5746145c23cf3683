-- The keys go with their session.
with fence as materialized (
  select
  from number_shards f
  where f.shard = :shard
    and f.term = :term
  for share
),
wiped as (
  delete from sessions s
  where s.number_id = :numberId
    and (:shard is null or exists (select from fence))
)
select (:shard is null or exists (select from fence)) as written
