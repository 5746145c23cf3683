/**
 * The port that stores how far each named subscription has come. A lease says which process handles
 * its events; `EventFeed.subscribe` decides who may take it.
 */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"

/** Names that the store keeps at once. */
export const maximumSubscriptions = 100

/** How long a name stays that no process uses: as long as the events that it would continue with. */
export const subscriptionsRetentionMillis = 30 * 24 * 60 * 60 * 1000

export interface StoredSubscription {
  /** Position of the last event that was handled. */
  readonly reached: number
  /** The number of the latest lease. */
  readonly lease: number
  /** Until then, only the lease's holder handles events. */
  readonly leaseUntil: number
}

export interface SubscriptionStore {
  /** Null for an unknown name. */
  findSubscription(name: string): Effect.Effect<StoredSubscription | null, StoreUnavailable>
  /** Adds a name without a lease; `full` when there are `most`. */
  insertSubscription(subscription: {
    readonly name: string
    readonly reached: number
    readonly now: number
    readonly most: number
  }): Effect.Effect<"inserted" | "exists" | "full", StoreUnavailable>
  /** Gives out the lease after `lease`, until `until`; null when `lease` is not the latest. */
  claimSubscription(claim: {
    readonly name: string
    readonly lease: number
    readonly until: number
  }): Effect.Effect<StoredSubscription | null, StoreUnavailable>
  /** Writes the position, which never goes back, and renews the lease; false when `lease` is not the latest. */
  saveSubscription(subscription: {
    readonly name: string
    readonly lease: number
    readonly reached: number
    readonly until: number
  }): Effect.Effect<boolean, StoreUnavailable>
  /** Deletes names if their lease ended before. */
  forgetSubscriptions(before: number): Effect.Effect<void, StoreUnavailable>
}
