update number_shards s
set worker_id = null
from unnest(:shards, :terms) held (shard, term)
where s.shard = held.shard
  and s.term = held.term
  and s.worker_id = :id
