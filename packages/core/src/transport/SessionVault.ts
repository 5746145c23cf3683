/**
 * The credentials and keys of live numbers in the clear, for their transports alone: what is written
 * is sealed with the secrets key before the store sees it, each text for its own place, and what is
 * read is opened. Neither ever stands in a log or an error.
 *
 * Writes of one number reach the store one after the other, in the order in which they were made, and
 * none once another worker has the number: those fail with `NumberMoved`. They are not given up half-way:
 * what comes behind one finds it done. Credentials are read behind them too, since a reader of them begins
 * anew with what was written before.
 */
import { Clock, Context, Effect, Layer, Result, Semaphore } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId } from "../Ids.ts"
import { Secrets } from "../secret/Secrets.ts"
import type { CannotOpen } from "../secret/Secrets.ts"
import { NumberMoved, NumberOwnership } from "./NumberOwnership.ts"
import { SessionStore } from "./SessionStore.ts"
import type { Exchanged, KeptSession, KeyChange, LoggedIn } from "./SessionStore.ts"
import type { Fence } from "./Shards.ts"

type Written = Effect.Effect<void, StoreUnavailable | NumberMoved>

export class SessionVault extends Context.Service<
  SessionVault,
  {
    /** See `SessionStore`, of which this is the readable side. */
    readonly list: Effect.Effect<ReadonlyArray<KeptSession>, StoreUnavailable>
    credentials(numberId: NumberId): Effect.Effect<string | null, StoreUnavailable | CannotOpen>
    keys(
      numberId: NumberId,
      type: string,
      ids: ReadonlyArray<string>,
    ): Effect.Effect<ReadonlyMap<string, string>, StoreUnavailable | CannotOpen>
    write(numberId: NumberId, credentials: string | null, keys: ReadonlyArray<KeyChange>): Written
    replace(numberId: NumberId, credentials: string, keys: ReadonlyArray<KeyChange>): Written
    /**
     * The same, or a wipe where the new ones are null, if its credentials still are `before`; whether it is
     * so now. What an older secrets key sealed counts as none. Asked for once more it finds that it was done.
     */
    exchange(
      numberId: NumberId,
      before: string | null,
      credentials: string | null,
      keys: ReadonlyArray<KeyChange>,
      account?: LoggedIn | null,
    ): Effect.Effect<Exchanged, StoreUnavailable>
    trim(numberId: NumberId, type: string, most: number): Written
    leave(numberId: NumberId): Written
    wipe(numberId: NumberId): Written
  }
>()("core/SessionVault") {
  static readonly layer = Layer.effect(
    SessionVault,
    Effect.gen(function* () {
      const store = yield* SessionStore
      const secrets = yield* Secrets
      const ownership = yield* NumberOwnership
      /** As many as there are live numbers. */
      const turns = new Map<NumberId, Semaphore.Semaphore>()

      const behindWrites = (numberId: NumberId) => {
        const turn = turns.get(numberId) ?? Semaphore.makeUnsafe(1)
        turns.set(numberId, turn)
        return turn.withPermits(1)
      }

      /** What is asked for while the worker has the number is written by that taking of it, or not at all. */
      const inTurn = Effect.fnUntraced(function* (
        numberId: NumberId,
        write: (fence: Fence, now: number) => Effect.Effect<boolean, StoreUnavailable>,
      ) {
        const fence = yield* ownership.fence(numberId)
        const isWritten = yield* behindWrites(numberId)(
          Effect.uninterruptible(
            Effect.flatMap(Clock.currentTimeMillis, (now) => write(fence, now)),
          ),
        )
        if (!isWritten) return yield* new NumberMoved({ numberId })
      })
      const keyPlace = (numberId: NumberId, type: string, id: string) =>
        `session of number ${numberId}: ${type} ${id}`
      const credentialsPlace = (numberId: NumberId) => `session of number ${numberId}`

      const sealedKeys = (numberId: NumberId, keys: ReadonlyArray<KeyChange>) =>
        keys.map((key): KeyChange => ({
          ...key,
          value:
            key.value === null
              ? null
              : secrets.seal(keyPlace(numberId, key.type, key.id), key.value),
        }))

      return SessionVault.of({
        list: store.list,
        credentials: Effect.fnUntraced(function* (numberId) {
          const sealed = yield* behindWrites(numberId)(store.credentials(numberId))
          if (sealed === null) return null
          return yield* Effect.fromResult(secrets.open(credentialsPlace(numberId), sealed))
        }),
        keys: Effect.fnUntraced(function* (numberId, type, ids) {
          const opened = new Map<string, string>()
          for (const [id, sealed] of yield* store.keys(numberId, type, ids)) {
            const text = secrets.open(keyPlace(numberId, type, id), sealed)
            if (Result.isFailure(text)) return yield* text.failure
            opened.set(id, text.success)
          }
          return opened
        }),
        write: (numberId, credentials, keys) =>
          inTurn(numberId, (fence, now) =>
            store.write(
              numberId,
              credentials === null ? null : secrets.seal(credentialsPlace(numberId), credentials),
              sealedKeys(numberId, keys),
              now,
              fence,
            ),
          ),
        replace: (numberId, credentials, keys) =>
          inTurn(numberId, (fence, now) =>
            store.replace(
              numberId,
              secrets.seal(credentialsPlace(numberId), credentials),
              sealedKeys(numberId, keys),
              now,
              fence,
            ),
          ),
        exchange: (numberId, before, credentials, keys, account = null) =>
          behindWrites(numberId)(
            Effect.uninterruptible(
              Effect.gen(function* () {
                const sealed = yield* store.credentials(numberId)
                const place = credentialsPlace(numberId)
                const opened =
                  sealed === null ? null : Result.getOrNull(secrets.open(place, sealed))
                if (opened === credentials) return true
                if (opened !== before) return false
                return yield* store.exchange(
                  numberId,
                  sealed,
                  credentials === null ? null : secrets.seal(place, credentials),
                  sealedKeys(numberId, keys),
                  yield* Clock.currentTimeMillis,
                  account,
                )
              }),
            ),
          ),
        trim: (numberId, type, most) =>
          inTurn(numberId, (fence) => store.trim(numberId, type, most, fence)),
        leave: (numberId) => inTurn(numberId, (fence, now) => store.leave(numberId, now, fence)),
        wipe: (numberId) => inTurn(numberId, (fence) => store.wipe(numberId, fence)),
      })
    }),
  )
}
