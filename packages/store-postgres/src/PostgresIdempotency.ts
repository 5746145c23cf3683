/**
 * Claims on idempotency keys: made before the work, and finished in the commit of what was made with
 * them. Sends claim and finish theirs many at a time, in functions of their own.
 */
import { answerKeptMillis, claimKeptMillis, erasedAtOnce } from "@messaging-service/core"
import type { ClaimOutcome, IdempotencyClaim, IdempotencyStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "./database/Database.ts"
import {
  bigint,
  columnsOf,
  epochMillis,
  instant,
  integer,
  text,
  within,
} from "./database/Fields.ts"
import type { FieldsOf } from "./database/Fields.ts"
import {
  call,
  given,
  joinable,
  joined,
  single,
  sqlFunction,
  statement,
  taking,
} from "./database/Statement.ts"

/** A claim as functions take it. */
export const claimColumns = columnsOf({
  keyId: { p_claim_key_id: bigint((claim) => claim.keyId) },
  key: { p_claim_key: text((claim) => claim.key) },
  fingerprint: { p_claim_fingerprint: text((claim) => claim.fingerprint) },
  token: { p_claim_token: text((claim) => claim.token) },
} satisfies FieldsOf<IdempotencyClaim>)

/** The same of a change that may have one. */
export const claimParameters = single(
  within(({ claim }: { readonly claim: IdempotencyClaim | null }) => claim, claimColumns),
)

/** The core's `isClaimVoid` and `isRecordVoid`. */
export const isClaimVoid = (claim: string, now: string): string =>
  `${claim}.claimed_at <= ${now} - interval '${claimKeptMillis} milliseconds'`

export const isRecordVoid = (record: string, now: string): string =>
  `${record}.created_at <= ${now} - interval '${answerKeptMillis} milliseconds'`

/** Claims a key for a request; null when it is claimed, else what stands in the way. */
export const claimKey = sqlFunction(
  "claim_idempotency_key",
  joined(single(claimColumns), taking({ now: instant })),
  "json",
)`
  declare
    v_record idempotency_records;
  begin
    insert into idempotency_claims as held (key_id, key, fingerprint, token, claimed_at)
    values (p_claim_key_id, p_claim_key, p_claim_fingerprint, p_claim_token, p_now)
    on conflict (key_id, key) do update
    set fingerprint = excluded.fingerprint,
      token = excluded.token,
      claimed_at = excluded.claimed_at
    where held.token = excluded.token
      or ${isClaimVoid("held", "p_now")};
    if not found then
      return json_build_object('_tag', 'InProgress');
    end if;

    select r.*
    into v_record
    from idempotency_records r
    where r.key_id = p_claim_key_id
      and r.key = p_claim_key
      and not (${isRecordVoid("r", "p_now")});
    if not found then
      return null;
    end if;

    delete from idempotency_claims c
    where c.key_id = p_claim_key_id
      and c.key = p_claim_key;
    return json_build_object(
      '_tag', 'Finished',
      'record', jsonb_build_object(
        'fingerprint', v_record.fingerprint,
        'madeIds', v_record.made_ids,
        'createdAt', ${epochMillis("v_record.created_at")}
      ) || case
        when v_record.shown is null then '{}'
        else jsonb_build_object('shown', v_record.shown)
      end
    );
  end`

/**
 * Locks a claim, as the first lock of a commit; false when it is no longer held by this token.
 * Without a key there is nothing to lock, and it is true.
 */
export const holdClaim = sqlFunction(
  "hold_idempotency_claim",
  "p_key_id bigint, p_key text, p_token text",
  "boolean",
)`
  begin
    if p_token is null then
      return true;
    end if;
    perform from idempotency_claims c
    where c.key_id = p_key_id
      and c.key = p_key
      and c.token = p_token
    for update;
    return found;
  end`

/** Turns a claim that is held into the record of what was made. Without a key it does nothing. */
export const finishClaim = sqlFunction(
  "finish_idempotency_claim",
  "p_key_id bigint, p_key text, p_fingerprint text, p_made_ids bigint[], p_now timestamptz, p_shown jsonb",
  "void",
)`
  begin
    if p_key is null then
      return;
    end if;
    delete from idempotency_claims c
    where c.key_id = p_key_id
      and c.key = p_key;
    -- A record that is still there is void: else the key could not have been claimed.
    insert into idempotency_records (key_id, key, fingerprint, made_ids, created_at, shown)
    values (p_key_id, p_key, p_fingerprint, p_made_ids, p_now, p_shown)
    on conflict (key_id, key) do update
    set fingerprint = excluded.fingerprint,
      made_ids = excluded.made_ids,
      created_at = excluded.created_at,
      shown = excluded.shown;
  end`

/** Whether the claim of these parameters is held, for a function that takes `claimColumns`. */
export const isClaimHeld = `${holdClaim.name}(p_claim_key_id, p_claim_key, p_claim_token)`

/** A statement of such a function, that finishes the claim; `shown` is a `FirstShown`. */
export const finishesClaim = (madeIds: string, now: string, shown = "null"): string =>
  `perform ${finishClaim.name}(
      p_claim_key_id, p_claim_key, p_claim_fingerprint, ${madeIds}, ${now}, ${shown}
    )`

const claimStatement = call("idempotency.claim", claimKey)

/** Frees a claim of a refused request, if it is still this one's. */
export const releaseClaim = joinable("releaseClaim", single(claimColumns), {})`
delete from idempotency_claims c
where c.key_id = $p_claim_key_id
  and c.key = $p_claim_key
  and c.token = $p_claim_token`

const forgetting = given({ now: instant, limit: integer })

// Index idempotency_records_by_age.
const forgetRecords = statement("idempotency.forgetRecords", forgetting)`
delete from idempotency_records gone
using (
  select r.key_id, r.key
  from idempotency_records r
  where ${isRecordVoid("r", "$now")}
  limit $limit
) old
where gone.key_id = old.key_id
  and gone.key = old.key
  and ${isRecordVoid("gone", "$now")}
returning gone.key_id`

const forgetClaims = statement("idempotency.forgetClaims", forgetting)`
delete from idempotency_claims gone
using (
  select c.key_id, c.key
  from idempotency_claims c
  where ${isClaimVoid("c", "$now")}
  limit $limit
) old
where gone.key_id = old.key_id
  and gone.key = old.key
  and ${isClaimVoid("gone", "$now")}
returning gone.key_id`

export const idempotencyStore = (database: DatabaseService): typeof IdempotencyStore.Service => ({
  claim: (claim, now) =>
    Effect.map(
      claimStatement.value<ClaimOutcome>(database, { ...claim, now }),
      (outcome) => outcome ?? { _tag: "Claimed" },
    ),
  release: (claim) => releaseClaim.run(database, claim),
  forgetVoid: (now) =>
    Effect.andThen(
      forgetRecords.untilDone(database, { now, limit: erasedAtOnce }),
      forgetClaims.untilDone(database, { now, limit: erasedAtOnce }),
    ),
})
