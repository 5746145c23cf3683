/**
 * Idempotent operations that are not sends: claim, work, finish in the commit of the effect, answer
 * again from what was made (contract: Idempotency).
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids } from "../id/Ids.ts"
import { claimantOf } from "../key/Caller.ts"
import type { Permitted } from "../key/Caller.ts"
import { judgeClaim } from "./Idempotency.ts"
import type { IdempotencyClaim, IdempotencyKey } from "./Idempotency.ts"
import { IdempotencyStore } from "./IdempotencyStore.ts"

export interface Repeatable<A> {
  readonly answer: A
  /** The answer repeats that of the first request with the same `Idempotency-Key`. */
  readonly replayed: boolean
}

export class Idempotent extends Context.Service<
  Idempotent,
  {
    /**
     * Runs `work` with a claim that its commit must finish, or `again` with the ids that the first
     * request made. A refusal frees the key. Fails with `idempotency_key_reused` and
     * `idempotency_in_progress`.
     */
    run<A, E>(
      caller: Permitted,
      requested: IdempotencyKey | null,
      operation: {
        readonly work: (claim: IdempotencyClaim | null) => Effect.Effect<A, E>
        readonly again: (madeIds: ReadonlyArray<number>) => Effect.Effect<A, E>
      },
    ): Effect.Effect<Repeatable<A>, E | Refusal | StoreUnavailable>
  }
>()("core/Idempotent") {
  static readonly layer = Layer.effect(
    Idempotent,
    Effect.gen(function* () {
      const store = yield* IdempotencyStore
      const ids = yield* Ids

      return Idempotent.of({
        run: (caller, requested, { again, work }) =>
          Effect.gen(function* () {
            if (requested === null) return { answer: yield* work(null), replayed: false }
            const claim: IdempotencyClaim = {
              keyId: claimantOf(caller),
              key: requested.key,
              fingerprint: requested.fingerprint,
              token: ids.hex(16),
            }
            const outcome = yield* store.claim(claim, yield* Clock.currentTimeMillis)
            const record = yield* Effect.fromResult(judgeClaim(outcome, requested))
            if (record !== null) {
              return { answer: yield* again(record.madeIds), replayed: true }
            }
            const answer = yield* work(claim).pipe(
              Effect.onError(() => Effect.ignore(store.release(claim))),
            )
            return { answer, replayed: false }
          }),
      })
    }),
  )
}
