-- Index reminders_removed.
delete from reminders r
where r.id in (
  select o.id
  from reminders o
  where o.removed_at < :before
  limit :limit
)
returning r.id
