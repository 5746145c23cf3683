-- Index number_checks_completed. Their results are gone by now.
delete from number_checks c
where c.id in (
  select o.id
  from number_checks o
  where o.completed_at < :before
  limit :limit
)
returning c.id
