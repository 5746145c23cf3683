select asked.id
from unnest(:ids::bigint[]) asked (id)
where not exists (
  select
  from media_files m
  where m.id = asked.id
    and is_file_there(m)
)
