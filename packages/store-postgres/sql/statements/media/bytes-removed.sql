update media_files m
set has_bytes = false
where m.id = any (:ids)
  and is_file_ended(m)
