/**
 * Idempotent retries (contract: Idempotency). A request claims its key before the work; the commit
 * of its effect finishes the claim, and a refusal releases it. The store keeps facts to rebuild the
 * answer, not the answer.
 */
import { Result } from "effect"
import type { Effect } from "effect"
import { refuse } from "./Refusal.ts"
import type { Refusal, StoreUnavailable } from "./Refusal.ts"
import { hashSecret } from "./Secrets.ts"

/** How long a finished request is answered again: 24 hours from the first, in milliseconds. */
export const answerRetentionMillis = 24 * 60 * 60 * 1000

/** After this, a crashed process's claim is free again. */
export const claimRetentionMillis = 30_000

/** A request's `Idempotency-Key`, before the claim. */
export interface IdempotencyKey {
  /** The header's value. */
  readonly key: string
  /** SHA-256 over method, path and canonical body, hexadecimal. */
  readonly fingerprint: string
}

export interface IdempotencyClaim extends IdempotencyKey {
  /** The claiming API key; negative without one (`toClaimant`). */
  readonly keyId: number
  /** Distinguishes this attempt's claim from others. */
  readonly token: string
}

/** What the first answer showed beyond its request, and may change later. */
export type FirstAnswer =
  | {
      /** Digits with country code. */
      readonly phone: string | null
      readonly label: string
    }
  /** Refused rows of a campaign, as the service wrote them: `NewCampaignRow` without values. */
  | { readonly problems: ReadonlyArray<unknown> }

/** The finished first request. */
export interface IdempotencyRecord {
  readonly fingerprint: string
  /**
   * Ids that the first request created, in the order of its answer. Of rows: their campaign's, negative,
   * since `shown` is erased by the first id, and other records have a number's there.
   */
  readonly madeIds: ReadonlyArray<number>
  /** When the first request was made; the record is void 24 hours later. */
  readonly createdAt: number
  /** Only for a reconnected number and rows of a campaign, until it is erased. */
  readonly shown?: FirstAnswer
}

/** A store's answer to a claim. */
export type ClaimOutcome =
  | { readonly _tag: "Claimed" }
  | { readonly _tag: "InProgress" }
  | { readonly _tag: "Finished"; readonly record: IdempotencyRecord }

/** What an idempotency key has: an unfinished claim, a finished request, or nothing. */
export interface KeyStanding {
  readonly claim: { readonly token: string; readonly claimedAt: number } | null
  readonly record: IdempotencyRecord | null
}

/** Whether an unfinished claim is free again. */
export const isClaimVoid = (claimedAt: number, now: number): boolean =>
  claimedAt + claimRetentionMillis <= now

/** Whether a finished request is forgotten. */
export const isRecordVoid = (createdAt: number, now: number): boolean =>
  createdAt + answerRetentionMillis <= now

/** The result of claiming a key at `now`. The claim's holder, loading again, renews it. */
export const claimOutcome = (
  { claim, record }: KeyStanding,
  token: string,
  now: number,
): ClaimOutcome => {
  if (claim !== null && claim.token !== token && !isClaimVoid(claim.claimedAt, now)) {
    return { _tag: "InProgress" }
  }
  return record === null || isRecordVoid(record.createdAt, now)
    ? { _tag: "Claimed" }
    : { _tag: "Finished", record }
}

const printable = /^[\x20-\x7E]{1,255}$/

/**
 * The key in a request's `Idempotency-Key` headers; null without one. Fails with
 * `invalid_idempotency_key`: empty, too long, not printable ASCII, or sent twice.
 */
export const parseIdempotencyKey = (
  values: ReadonlyArray<string>,
): Result.Result<string | null, Refusal<"invalid_idempotency_key">> => {
  const [value, another] = values
  if (value === undefined) return Result.succeed(null)
  return another === undefined && printable.test(value)
    ? Result.succeed(value)
    : Result.fail(refuse("invalid_idempotency_key"))
}

/** What a repeat must match: method, path without trailing slash, and parsed body. */
export const fingerprint = (method: string, path: string, body: string): string =>
  hashSecret(`${method}\n${path}\n${body}`)

/** What an operation with a key can be refused with. */
export type IdempotencyCode = "idempotency_key_reused" | "idempotency_in_progress"

/**
 * What a claim's outcome means: continue, repeat the answer, or refuse (`idempotency_key_reused`,
 * `idempotency_in_progress`).
 */
export const judgeClaim = (
  outcome: ClaimOutcome | null,
  requested: IdempotencyKey | null,
): Result.Result<IdempotencyRecord | null, Refusal<IdempotencyCode>> => {
  if (outcome === null || requested === null || outcome._tag === "Claimed") {
    return Result.succeed(null)
  }
  if (outcome._tag === "InProgress") {
    return Result.fail(refuse("idempotency_in_progress", { retryAfter: 1 }))
  }
  return outcome.record.fingerprint === requested.fingerprint
    ? Result.succeed(outcome.record)
    : Result.fail(refuse("idempotency_key_reused"))
}

/**
 * The port that stores claims of operations other than sends, which claim with their own reads.
 * Each operation's commit writes the finished record.
 */
export interface IdempotencyStore {
  /** Claims the key unless claimed or finished, as `MessageStore.loadAcceptance` does. */
  claimKey(claim: IdempotencyClaim, now: number): Effect.Effect<ClaimOutcome, StoreUnavailable>
  /** Releases a refused request's claim, if it still holds it. */
  releaseClaim(claim: IdempotencyClaim): Effect.Effect<void, StoreUnavailable>
  /** Deletes records and claims that are void at `now`. */
  forgetVoidClaims(now: number): Effect.Effect<void, StoreUnavailable>
}
