/**
 * Idempotent retries (contract: Idempotency rules). A key is claimed before the work, finished in
 * the commit of its effect, and released when the request is refused; what is kept is what the
 * answer can be built from again, not the answer.
 */
import type { KeyId } from "../id/Ids.ts"

/** From the first request; hours in milliseconds. */
export const answerKeptMillis = 24 * 60 * 60 * 1000

/** After this a claim whose process died is free again. */
export const claimKeptMillis = 30_000

/** A request's claim on its `Idempotency-Key`. */
export interface IdempotencyClaim {
  readonly keyId: KeyId
  /** The header's value. */
  readonly key: string
  /** SHA-256 over method, path and canonical body, hexadecimal. */
  readonly fingerprint: string
  /** Tells this attempt's claim from any other's. */
  readonly token: string
}

/** The finished first request. */
export interface IdempotencyRecord {
  readonly fingerprint: string
  /** The ids of what the first request made, in the order of its answer. */
  readonly madeIds: ReadonlyArray<number>
  /** When the first request was made; the record is void 24 hours later. */
  readonly createdAt: number
}

/** What a store found when it tried to claim. */
export type ClaimOutcome =
  | { readonly _tag: "Claimed" }
  | { readonly _tag: "InProgress" }
  | { readonly _tag: "Finished"; readonly record: IdempotencyRecord }
