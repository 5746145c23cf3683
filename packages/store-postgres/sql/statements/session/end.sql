-- Locks the workers by id. One that has shown life since drops out once its row is locked.
with silent as (
  select w.id
  from workers w
  join unnest(:ids, :beats) seen (id, beat) on seen.id = w.id and seen.beat = w.beat
  order by w.id
  for update of w
)
delete from workers w
using silent
where w.id = silent.id
