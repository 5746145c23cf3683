/**
 * The port that keeps attempts at linking. An attempt begins together with the change of its
 * number's status and ends with it, in one commit each; a removed number has none.
 *
 * A live attempt is held by the worker that runs its connection, under a lease: a number that grows
 * with every claim. Only the holder of the present lease may say what is shown; that the number was
 * linked may be said without holding it, as by the emulator's scan.
 *
 * Callbacks are written in the commit of the change that they report, if it is made and if the number
 * is still one that reports there.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Callback } from "../callback/Callback.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { LinkingId, NumberId, WorkspaceId } from "../id/Ids.ts"
import type { Shares } from "../limit/Held.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import type { LinkingAttempt, LinkingView } from "./Linking.ts"
import type { SendingNumber } from "./SendingNumber.ts"

export interface NewAttempt extends Omit<LinkingAttempt, "numberId" | "replaced"> {
  /** Where the attempt, and the number's log-out after it, are reported; replaces what was before. */
  readonly callbackUrl: string | null
}

/** What reports the end of an attempt: the one that came true is written. */
export interface EndReports {
  readonly connected: Callback
  readonly disconnected: Callback
}

/** The first guard that did not hold, in this order: nothing was written. */
export type BrokenLinkingGuard =
  /** The claim is no longer this request's. */
  | "idempotency"
  /** The workspace was deleted, or the number is gone or no longer disconnected. */
  | "number"
  /** The workspace holds as many numbers as it may. */
  | "limit"

export type LinkingOutcome =
  | { readonly _tag: "Begun"; readonly number: SendingNumber }
  | { readonly _tag: "Broken"; readonly guard: BrokenLinkingGuard }

export interface HeldAttempt {
  readonly attempt: LinkingAttempt
  readonly workspaceId: WorkspaceId
  readonly lease: number
}

export interface LinkingClaimQuery extends Shares {
  readonly now: number
  readonly leaseUntil: number
  readonly limit: number
}

export class LinkingStore extends Context.Service<
  LinkingStore,
  {
    /**
     * Makes a connecting number with its lane and its attempt, if the workspace holds fewer than
     * `limit` numbers (null: any number) that are not removed. Finishes the claim with the number's
     * id.
     */
    add(
      number: Omit<SendingNumber, "id" | "status">,
      attempt: NewAttempt,
      limit: number | null,
      idempotency: IdempotencyClaim | null,
    ): Effect.Effect<LinkingOutcome, StoreUnavailable>
    /**
     * Begins an attempt for a disconnected number of the workspace, which takes over its login
     * method, and its phone unless that is null; the phone that it replaces is kept with the attempt.
     * Finishes the claim with the number's id.
     */
    reconnect(
      workspaceId: WorkspaceId,
      numberId: NumberId,
      attempt: NewAttempt,
      idempotency: IdempotencyClaim | null,
    ): Effect.Effect<LinkingOutcome, StoreUnavailable>
    /** The number's attempt; null when it is not being connected. */
    get(numberId: NumberId): Effect.Effect<LinkingAttempt | null, StoreUnavailable>
    /**
     * Claims live attempts that no worker holds and that have not ended at `now`, the oldest first,
     * of each workspace its share of the worker at most.
     */
    claim(query: LinkingClaimQuery): Effect.Effect<ReadonlyArray<HeldAttempt>, StoreUnavailable>
    /** Prolongs leases; returns the attempts that are still held by them. */
    renew(
      held: ReadonlyArray<{ readonly id: LinkingId; readonly lease: number }>,
      leaseUntil: number,
    ): Effect.Effect<ReadonlySet<LinkingId>, StoreUnavailable>
    /** Replaces what the attempt shows; false when it is over or held by another. */
    show(
      id: LinkingId,
      lease: number,
      view: LinkingView,
      callback?: Callback | null,
    ): Effect.Effect<boolean, StoreUnavailable>
    /** The phone has taken the code, which needs no lease; false when it is over at `now`. */
    taken(id: LinkingId, now: number): Effect.Effect<boolean, StoreUnavailable>
    /**
     * Ends the attempt by connecting its number with that phone. If another number of the workspace
     * has the phone (same platform and mode, not removed), the number is disconnected instead, has
     * its replaced phone again and does not keep that of the other. Returns the number; null when the
     * attempt is over at `now`.
     */
    linked(
      id: LinkingId,
      phone: string,
      now: number,
      reports?: EndReports | null,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /**
     * Ends the attempt by disconnecting its number, which has its replaced phone again; false when it
     * is over already.
     */
    giveUp(id: LinkingId, callback?: Callback | null): Effect.Effect<boolean, StoreUnavailable>
    /** Attempts whose end has come at `now`, the longest ago first. */
    lapsed(
      now: number,
      limit: number,
    ): Effect.Effect<ReadonlyArray<LinkingAttempt>, StoreUnavailable>
    /** Test attempts that link themselves by `now` and have not ended before. */
    dueTest(
      now: number,
      limit: number,
    ): Effect.Effect<ReadonlyArray<LinkingAttempt>, StoreUnavailable>
  }
>()("core/LinkingStore") {}
