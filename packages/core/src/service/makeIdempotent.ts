/** Runs an operation other than a send once for each `Idempotency-Key`. */
import { Clock, Effect } from "effect"
import type { Refusal, StoreUnavailable } from "../model/Refusal.ts"
import { Ids } from "../model/Ids.ts"
import { toClaimant } from "../model/Auth.ts"
import type { Caller } from "../model/Auth.ts"
import { judgeClaim } from "../model/Idempotency.ts"
import type {
  FirstAnswer,
  IdempotencyClaim,
  IdempotencyCode,
  IdempotencyKey,
} from "../model/Idempotency.ts"
import { Store } from "../store/Store.ts"

/** An answer, and whether it was replayed. */
export interface IdempotentResult<A> {
  readonly answer: A
  /** Whether it repeats the first answer of the same `Idempotency-Key`. */
  readonly replayed: boolean
}

export const makeIdempotent = /*#__PURE__*/ Effect.gen(function* () {
  const store = (yield* Store).messages
  const ids = yield* Ids
  return {
    /**
     * Runs `work` with a claim that its commit must finish, or `again` with the record of the first
     * request. A refusal frees the key. Uninterruptible: a client that hangs up must not leave a
     * claim behind or lose an answer half way. Fails with `idempotency_key_reused` and
     * `idempotency_in_progress`.
     */
    run: Effect.fnUntraced(function* <A, E, B, F>(
      caller: Caller,
      requested: IdempotencyKey | null,
      operation: {
        readonly work: (claim: IdempotencyClaim | null) => Effect.Effect<A, E>
        readonly again: (
          createdIds: ReadonlyArray<number>,
          firstAnswer: FirstAnswer | undefined,
        ) => Effect.Effect<B, F>
      },
    ): Effect.fn.Return<
      IdempotentResult<A | B>,
      E | F | Refusal<IdempotencyCode> | StoreUnavailable
    > {
      const { again, work } = operation
      if (requested === null) return { answer: yield* work(null), replayed: false }
      const claim = { ...requested, keyId: toClaimant(caller), token: ids.hex(16) }
      const outcome = yield* store.claimKey(claim, yield* Clock.currentTimeMillis)
      const record = yield* Effect.fromResult(judgeClaim(outcome, requested))
      if (record !== null) {
        return { answer: yield* again(record.madeIds, record.shown), replayed: true }
      }
      const answer = yield* Effect.onError(work(claim), () =>
        Effect.ignore(store.releaseClaim(claim)),
      )
      return { answer, replayed: false }
    }, Effect.uninterruptible),
  }
})
