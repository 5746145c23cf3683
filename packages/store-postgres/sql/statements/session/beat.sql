-- One row, or none when the worker is not there. Statements that end a worker wait for its row, so a
-- worker that was found alive here is ended by none that has not seen this beat.
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
