-- name: release
-- Frees the claim of a refused request, if it is still this one's.
delete from idempotency_claims c
where c.key_id = :claimKeyId
  and c.key = :claimKey
  and c.token = :claimToken

-- name: forgetRecords
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

-- name: forgetClaims
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
