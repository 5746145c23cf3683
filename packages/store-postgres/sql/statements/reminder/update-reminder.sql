update reminders r
set name = :name,
  active = :active,
  recipient = :recipient,
  number_id = :number_id,
  text = :text,
  media = :media,
  cron = :cron,
  timezone = :timezone,
  next_run_at = :nextRunAt,
  -- Held until it is another schedule's, or none's.
  held_run_at = case when :active and :nextRunAt::timestamptz is null then r.held_run_at end,
  revision = r.revision + 1,
  original = coalesce(
    r.original,
    jsonb_build_object(
      'name', r.name, 'active', r.active, 'to', r.recipient, 'from', r.number_id, 'text', r.text,
      'media', r.media, 'cron', r.cron, 'timezone', r.timezone
    )
  )
where r.id = :id
  and r.revision = :revision
  and r.removed_at is null
returning r.id
