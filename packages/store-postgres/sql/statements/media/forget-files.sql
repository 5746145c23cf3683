-- Index media_files_remembered.
delete from media_files gone
where gone.id in (
  select m.id
  from media_files m
  where m.created_at < :createdBefore
    and is_file_ended(m)
    and not m.has_bytes
  limit :limit
)
returning gone.id
