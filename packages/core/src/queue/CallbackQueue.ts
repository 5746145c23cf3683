/**
 * The port that hands out callbacks: the longest due first, a few at once for each target and a share
 * for each workspace, so that none delays another. They are queued by the commits that they report, and go with their workspace.
 * A claim comes with a lease; when it runs out unsettled the same attempt is handed out again. What
 * counts as delivered and when to try again are rules of the core, not of its adapters.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Callback } from "../callback/Callback.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"

export interface CallbackQuery {
  readonly now: number
  /** When the leases run out, unless they are settled before. */
  readonly leaseUntil: number
  /** Callbacks to claim at most. */
  readonly limit: number
  /** How many of one target of a workspace may be in flight at once, those claimed before included. */
  readonly perTarget: number
  /** How many of one workspace may be in flight at once, those claimed before included. */
  readonly perWorkspace: number
}

export interface ClaimedCallback extends Pick<
  Callback,
  "eventId" | "workspaceId" | "url" | "body"
> {
  readonly id: number
  readonly lease: number
  /** This attempt, from 1. */
  readonly attempt: number
  /** The workspace's salt at the moment of the claim, as `CallbackSalts` keeps it. */
  readonly storedSalt: string | null
}

export interface CallbackResult {
  readonly id: number
  readonly lease: number
  /** When the next attempt is due; null when it was delivered, or when there is none. */
  readonly nextAttemptAt: number | null
}

export class CallbackQueue extends Context.Service<
  CallbackQueue,
  {
    claim(query: CallbackQuery): Effect.Effect<ReadonlyArray<ClaimedCallback>, StoreUnavailable>
    /** Ends or reschedules callbacks, each only if its lease is still the callback's. One commit. */
    settle(results: ReadonlyArray<CallbackResult>): Effect.Effect<void, StoreUnavailable>
    /**
     * Returns when a commit of this process has queued callbacks; at once if that happened since it
     * last returned. Other processes are heard of by polling.
     */
    readonly queued: Effect.Effect<void>
  }
>()("core/CallbackQueue") {}
