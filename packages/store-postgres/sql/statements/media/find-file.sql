select
  m.id, m.workspace_id, m.mode, m.file_name, m.type, m.mime_type, m.size, m.storage_key,
  m.created_at, m.state = 'deleted' as deleted
from media_files m
where m.id = :id
  and m.state in ('kept', 'attached', 'deleted')
