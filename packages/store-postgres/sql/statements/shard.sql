-- name: join
insert into workers (name, most, beat)
values (:name, :most, 0)
returning id

-- name: beat
-- One row, or none when the worker is not there. A statement that ends a worker locks its row first and
-- then compares the beat, so a beat that was recorded here saves the worker.
-- Never null: workers, most, beats, holders, terms, linked, linking
with alive as (
  update workers w
  set beat = w.beat + 1
  where w.id = :id
  returning w.id
)
select
  array(select w.id from workers w order by w.id) as workers,
  array(select w.most from workers w order by w.id) as most,
  array(select w.beat from workers w order by w.id) as beats,
  array(select coalesce(s.worker_id, 0) from number_shards s order by s.shard) as holders,
  array(select s.term from number_shards s order by s.shard) as terms,
  array(
    select shard_of(s.number_id, :count)
    from sessions s
  ) as linked,
  array(
    select shard_of(a.number_id, :count)
    from linking_attempts a
    where a.mode = 'live'
      and not exists (
        select
        from sessions s
        where s.number_id = a.number_id
      )
  ) as linking
from alive

-- name: end
-- Locks the workers by id. One that has shown life since drops out once its row is locked.
with silent as (
  select w.id
  from workers w
  join unnest(
    :ids::bigint[], :beats::bigint[]) seen (id, beat
  ) on seen.id = w.id and seen.beat = w.beat
  order by w.id
  for update of w
)
delete from workers w
using silent
where w.id = silent.id

-- name: take
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

-- name: give
update number_shards s
set worker_id = null
from unnest(:shards::integer[], :terms::bigint[]) held (shard, term)
where s.shard = held.shard
  and s.term = held.term
  and s.worker_id = :id

-- name: leave
delete from workers w
where w.id = :id

-- name: holder
select w.name
from number_shards s
join workers w on w.id = s.worker_id
where s.shard = :shard

-- name: holders
select s.shard, w.name
from number_shards s
join workers w on w.id = s.worker_id
