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
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId } from "../Ids.ts"
import type { PauseReason } from "../number/Breaker.ts"
import type { ConnectionReason, NumberStatus, Platform } from "../number/SendingNumber.ts"
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
