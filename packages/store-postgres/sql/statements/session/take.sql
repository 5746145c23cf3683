-- Locks the worker, so that it cannot be ended meanwhile, then the shards that no other locks.
with worker as (
  select w.id
  from workers w
  where w.id = :id
  for key share
),
free as (
  select s.shard
  from worker
  cross join number_shards s
  where s.shard = any (:shards)
    and s.worker_id is null
  order by s.shard
  for no key update of s skip locked
)
update number_shards s
set worker_id = :id, term = s.term + 1
from free
where s.shard = free.shard
returning s.shard, s.term
