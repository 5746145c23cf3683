delete from idempotency_claims gone
using (
  select c.key_id, c.key
  from idempotency_claims c
  where is_claim_void(c.claimed_at, :now)
  limit :limit
) old
where gone.key_id = old.key_id
  and gone.key = old.key
  and is_claim_void(gone.claimed_at, :now)
returning gone.key_id
