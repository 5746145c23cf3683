/**
 * The port that keeps claims on idempotency keys for operations other than sending (which claims
 * together with its other reads). The finished record is written by the operation's own commit.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { ClaimOutcome, IdempotencyClaim } from "./Idempotency.ts"

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /**
     * Claims the key unless it is claimed or finished; the same rule as in
     * `MessageStore.loadAcceptance`.
     */
    claim(claim: IdempotencyClaim, now: number): Effect.Effect<ClaimOutcome, StoreUnavailable>
    /** Frees a claim of a refused request, if it is still this one's. */
    release(claim: IdempotencyClaim): Effect.Effect<void, StoreUnavailable>
    /**
     * Drops finished records and claims that are void at `now`; they answer no request any more.
     */
    forgetVoid(now: number): Effect.Effect<void, StoreUnavailable>
  }
>()("core/IdempotencyStore") {}
