with fence as materialized (
  select
  from number_shards f
  where f.shard = :shard
    and f.term = :term
  for share
),
trimmed as (
  delete from session_keys k
  using (
    select old.id
    from session_keys old
    where old.number_id = :numberId
      and old.type = :type
    order by old.written_at desc, old.id desc
    offset :most
  ) old
  where k.number_id = :numberId
    and k.type = :type
    and k.id = old.id
    and (:shard is null or exists (select from fence))
)
select (:shard is null or exists (select from fence)) as written
