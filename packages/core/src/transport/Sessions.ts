/**
 * The port that keeps what live transports need to come back as the same device: for each number its
 * credentials, and keys by type and id. All of it is sealed (see `SessionVault`): the store never
 * holds a secret that it could read.
 *
 * Each write says by which taking of the number's shard it is made. Once another worker has taken the
 * shard, the store changes nothing and answers false, so that what a frozen or cut-off worker sends late
 * does not undo what its successor wrote.
 *
 * What a number keeps is bounded by its transport, which trims the types that grow; it goes when it
 * is wiped. A number that leaves (it is logged out by its owner) or was removed keeps what it had, so
 * that its device can still be logged out at the far side, also when that is away for a time.
 */
import { Clock, Context, Effect, Layer, Result, Semaphore } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { NumberId } from "../Ids.ts"
import type {
  ConnectionReason,
  NumberStatus,
  PauseReason,
  Platform,
} from "../number/SendingNumber.ts"
import { Secrets } from "../secret/Secrets.ts"
import type { CannotOpen } from "../secret/Secrets.ts"
import { NumberMoved, NumberOwnership } from "./NumberOwnership.ts"
import type { Fence } from "./Shards.ts"

/** One key; null where it is to be deleted. */
export interface KeyChange {
  readonly type: string
  readonly id: string
  readonly value: string | null
}

/** A number that has credentials. */
export interface KeptSession {
  readonly numberId: NumberId
  readonly platform: Platform
  readonly status: NumberStatus
  /** It was removed, or its workspace deleted. */
  readonly removed: boolean
  /** Since when its device is to be logged out at the far side; null when it stays. */
  readonly leavingSince: number | null
  /** Why it was paused last, unless it was resumed since. */
  readonly pauseReason: PauseReason | null
  /** Why it is disconnected, where that is known; null while it is connected. */
  readonly reason: ConnectionReason | null
  /** The URL of its proxy as it is kept: another text is another proxy. */
  readonly proxy: string | null
}

/** An account whose login takes the place of what a number had. */
export interface LoggedIn {
  /** Digits with country code; null where the account does not tell. */
  readonly phone: string | null
}

/** Whether credentials were exchanged, or why not. */
export type Exchanged = boolean | "phone_of_another_number"

export class SessionStore extends Context.Service<
  SessionStore,
  {
    /** Numbers that have credentials, removed ones included, by ascending id. */
    readonly list: Effect.Effect<ReadonlyArray<KeptSession>, StoreUnavailable>
    /** Null where the number has none. */
    credentials(numberId: NumberId): Effect.Effect<string | null, StoreUnavailable>
    /** The values of those keys that there are, by id. */
    keys(
      numberId: NumberId,
      type: string,
      ids: ReadonlyArray<string>,
    ): Effect.Effect<ReadonlyMap<string, string>, StoreUnavailable>
    /**
     * Writes all of it in one commit; credentials that are null stay as they are. No key comes twice. Of a
     * number that was removed, or that there is not, nothing is changed.
     */
    write(
      numberId: NumberId,
      credentials: string | null,
      keys: ReadonlyArray<KeyChange>,
      now: number,
      fence: Fence,
    ): Effect.Effect<boolean, StoreUnavailable>
    /** The same in place of all that the number had. */
    replace(
      numberId: NumberId,
      credentials: string,
      keys: ReadonlyArray<KeyChange>,
      now: number,
      fence: Fence,
    ): Effect.Effect<boolean, StoreUnavailable>
    /**
     * Puts these in place of all that the number had, or nothing in place of it where they are null, if
     * its credentials still are `before` (null: it has none), and answers whether they were. What was
     * written since makes it refuse, so it needs no fence.
     *
     * With `account` the credentials are those of an account that has logged in. In the same commit its
     * phone becomes the number's, the pauses that the number's own standing caused end
     * (`pausesOnceLinked`), and a disconnected number is to be connected (`reasonOnceResumed`). Where
     * another number of its workspace has the phone (`hasPhone`), nothing is changed.
     */
    exchange(
      numberId: NumberId,
      before: string | null,
      credentials: string | null,
      keys: ReadonlyArray<KeyChange>,
      now: number,
      account?: LoggedIn | null,
    ): Effect.Effect<Exchanged, StoreUnavailable>
    /** Drops keys of that type, the longest unwritten first, until no more than `most` are left. */
    trim(
      numberId: NumberId,
      type: string,
      most: number,
      fence: Fence,
    ): Effect.Effect<boolean, StoreUnavailable>
    /**
     * From now on the number's device is to be logged out at the far side; the first time counts.
     * Credentials that replace its own stay.
     */
    leave(numberId: NumberId, now: number, fence: Fence): Effect.Effect<boolean, StoreUnavailable>
    /** Nothing of the number is left. */
    wipe(numberId: NumberId, fence: Fence): Effect.Effect<boolean, StoreUnavailable>
  }
>()("core/SessionStore") {}

// The credentials and keys of live numbers in the clear, for their transports alone: what is written
// is sealed with the secrets key before the store sees it, each text for its own place, and what is
// read is opened. Neither ever stands in a log or an error.
// Writes of one number reach the store one after the other, in the order in which they were made, and
// none once another worker has the number: those fail with `NumberMoved`. They are not given up half-way:
// what comes behind one finds it done. Credentials are read behind them too, since a reader of them begins
// anew with what was written before.

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
      const inTurn = Effect.fnUntraced(function* inTurn(
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
        credentials: Effect.fnUntraced(function* credentials(numberId) {
          const sealed = yield* behindWrites(numberId)(store.credentials(numberId))
          if (sealed === null) return null
          return yield* Effect.fromResult(secrets.open(credentialsPlace(numberId), sealed))
        }),
        keys: Effect.fnUntraced(function* keys(numberId, type, ids) {
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
