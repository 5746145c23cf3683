-- Index reminder_runs_by_age.
delete from reminder_runs l
where l.id in (
  select o.id
  from reminder_runs o
  where o.ran_at < :before
    and (
      exists (
        select
        from reminder_runs n
        where n.reminder_id = o.reminder_id
          and n.id > o.id
      )
      or not exists (
        select
        from reminders r
        where r.id = o.reminder_id
          and r.removed_at is null
      )
    )
  order by o.ran_at
  limit :limit
)
returning l.id
