-- Index idempotency_records_by_age.
delete from idempotency_records gone
using (
  select r.key_id, r.key
  from idempotency_records r
  where is_record_void(r.created_at, :now)
  limit :limit
) old
where gone.key_id = old.key_id
  and gone.key = old.key
  and is_record_void(gone.created_at, :now)
returning gone.key_id
