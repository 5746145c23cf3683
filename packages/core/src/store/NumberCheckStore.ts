/**
 * A number check: a list of phones, and which of them WhatsApp knows (contract: Number checks). The
 * worker asks chunk by chunk, so that a crash loses no long list.
 */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { NumberCheckId, NumberId, WorkspaceId } from "../model/Ids.ts"
import type { CallerScope } from "../model/Auth.ts"
import type { LeaseClaim, Shares } from "../model/Bulkhead.ts"
import { isOpen } from "../model/Lane.ts"
import type { Standing } from "../model/Lane.ts"
import type { Phone } from "../model/Recipient.ts"
import type { IdempotencyClaim } from "../model/Idempotency.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"
import { isOwned } from "../model/Shards.ts"
import type { Owned } from "../model/Shards.ts"
import type { PhonesOutcome } from "./Transport.ts"
import type { Mode } from "../model/Workspace.ts"

export const numberCheckStatuses = ["pending", "processing", "completed"] as const

/** `processing` from the first look of a worker on. */
type NumberCheckStatus = (typeof numberCheckStatuses)[number]

export const checkResultStatuses = ["pending", "registered", "not_registered", "failed"] as const

/** `failed`: it could not be found out. */
export type CheckResultStatus = (typeof checkResultStatuses)[number]

/** Which phones exist for test keys: all but those that end in `0000` (contract: Test mode). */
export const isRegisteredInTestMode = (phone: Phone): boolean => !phone.endsWith("0000")

export interface NumberCheck {
  readonly id: NumberCheckId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** The number that asks. */
  readonly numberId: NumberId
  readonly name: string | null
  readonly status: NumberCheckStatus
  /** Results; a phone that is listed twice has two. */
  readonly total: number
  /** Results that are no longer pending, failed ones included. */
  readonly checked: number
  readonly registered: number
  readonly notRegistered: number
  readonly createdAt: number
  readonly completedAt: number | null
}

/**
 * Whether a check can be taken up: a live one waits while its number is not connected; once the number
 * is removed it is ended.
 */
export const canBeAsked = ({ mode }: Pick<NumberCheck, "mode">, lane: Standing): boolean =>
  mode === "test" || isOpen(lane)

/** Whether a worker may take it up: any may that needs no connection for it. */
export const isServedBy = (
  { mode, numberId }: Pick<NumberCheck, "mode" | "numberId">,
  { removed }: { readonly removed: boolean },
  owned: Owned,
): boolean => mode === "test" || removed || isOwned(numberId, owned)

export interface NumberCheckResult {
  readonly id: number
  readonly phone: Phone
  readonly status: CheckResultStatus
  readonly checkedAt: number | null
}

/** What answers change of a check. */
type CheckProgress = Pick<
  NumberCheck,
  "status" | "checked" | "registered" | "notRegistered" | "completedAt"
>

/** A check once so many of its results have got these statuses: the last of them completes it. */
export const checkAfter = (
  check: CheckProgress & Pick<NumberCheck, "total">,
  answered: ReadonlyArray<CheckResultStatus>,
  now: number,
): CheckProgress => {
  const getCount = (status: CheckResultStatus) => answered.filter((one) => one === status).length
  const checked = check.checked + answered.length
  const isComplete = checked === check.total
  return {
    checked,
    registered: check.registered + getCount("registered"),
    notRegistered: check.notRegistered + getCount("not_registered"),
    status: isComplete ? "completed" : check.status,
    completedAt: isComplete ? now : null,
  }
}

/** How long a check and its results can be looked at once it is completed. */
export const checksRetentionMillis = 30 * 24 * 60 * 60 * 1000

export type NewNumberCheck = Pick<
  NumberCheck,
  "workspaceId" | "mode" | "numberId" | "name" | "createdAt"
> & {
  /** Never empty; in the order of the results' ids. */
  readonly phones: ReadonlyArray<Phone>
}

/** Which precondition no longer held; nothing was written. */
export type FailedCheckGuard = "idempotency" | "number"

export type CheckInsertion =
  | { readonly _tag: "Made"; readonly id: NumberCheckId }
  | { readonly _tag: "Conflict"; readonly guard: FailedCheckGuard }

export interface CheckClaimQuery extends LeaseClaim, Shares {
  /** Phones of each at most. */
  readonly chunk: number
  readonly owned: Owned
}

/** A check with the next phones to ask for. */
export interface ClaimedCheck {
  readonly id: NumberCheckId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly numberId: NumberId
  /** The number was removed, or its workspace deleted: it can no longer be asked from. */
  readonly removed: boolean
  readonly lease: number
  /** Tries of this chunk that found nothing out. */
  readonly tries: number
  /** Each once, the first of the list first. */
  readonly phones: ReadonlyArray<Phone>
}

export type CheckSettlement = Pick<ClaimedCheck, "id" | "lease"> &
  (
    | {
        /** These phones are no longer pending; whatever else there is comes next. */
        readonly _tag: "Answered"
        readonly answers: ReadonlyArray<{
          readonly phone: Phone
          readonly status: Exclude<CheckResultStatus, "pending">
        }>
      }
    | {
        /** Nothing was found out; the check rests until `notBefore` (null: not at all). */
        readonly _tag: "Again"
        readonly notBefore: number | null
        /** Whether it counts as a try. */
        readonly tried: boolean
      }
  )

/** Phones that one call asks for. */
export const checkChunk = 50

/** A transport that does not answer for this long has found nothing out, in service time. */
export const checkTimeoutMillis = 60_000

/** Longer than a call may take, so that a lease never runs out under it. In service time. */
export const checkLeaseMillis = 90_000

/** The pauses after tries that found nothing out; after one more try the chunk is `failed`. */
export const checkRetryMillis: ReadonlyArray<number> = [5000, 30_000]

/** The outcome of one claimed check. */
export type CheckOutcome = PhonesOutcome | { readonly _tag: "Removed" }

/** What that outcome means for the chunk. */
export const judgeCheck = (
  claimed: Pick<ClaimedCheck, "id" | "lease" | "phones" | "tries">,
  outcome: CheckOutcome,
  now: number,
): CheckSettlement => {
  const { id, lease, phones, tries } = claimed
  const again = (notBefore: number | null, tried: boolean) =>
    ({ _tag: "Again", id, lease, notBefore, tried }) as const
  const answered = (getStatus: (phone: Phone) => Exclude<CheckResultStatus, "pending">) =>
    ({
      _tag: "Answered",
      id,
      lease,
      answers: phones.map((phone) => ({ phone, status: getStatus(phone) })),
    }) as const
  switch (outcome._tag) {
    case "Checked":
      return answered((phone) => (outcome.registered.has(phone) ? "registered" : "not_registered"))
    case "Removed":
      return answered(() => "failed")
    case "NotConnected":
      return again(null, false)
    case "Postponed":
      return again(now + outcome.afterMillis, false)
    case "Unknown": {
      const pause = checkRetryMillis[tries]
      return pause === undefined ? answered(() => "failed") : again(now + pause, true)
    }
  }
}

/** The answer to a test key, whatever phones the emulator has (contract: Test mode). */
export const testModeOutcome = (phones: ReadonlyArray<Phone>): CheckOutcome => ({
  _tag: "Checked",
  registered: new Set(phones.filter(isRegisteredInTestMode)),
})

export interface NumberCheckStore {
  /**
   * Writes the check with a pending result for each phone and finishes the idempotency record.
   * Guards, in this order: the claim is still held (`idempotency`), the number is not removed nor
   * its workspace deleted (`number`).
   */
  insert(
    check: NewNumberCheck,
    idempotency: IdempotencyClaim | null,
  ): Effect.Effect<CheckInsertion, StoreUnavailable>
  /** Null when unknown, or outside of the scope. */
  get(scope: CallerScope, id: NumberCheckId): Effect.Effect<NumberCheck | null, StoreUnavailable>
  /** Newest first. */
  list(scope: CallerScope, page: PageQuery): Effect.Effect<PageOf<NumberCheck>, StoreUnavailable>
  /** Newest first; `statuses` null for all. */
  results(
    id: NumberCheckId,
    statuses: ReadonlyArray<CheckResultStatus> | null,
    page: PageQuery,
  ): Effect.Effect<PageOf<NumberCheckResult>, StoreUnavailable>
  /**
   * Claims checks that are due, the longest due first, of no workspace more than the worker may
   * hold, each with a lease of its own that grows with every claim. Live checks wait while their
   * number is not connected or not owned; once it is removed they are handed out to any worker. A
   * check is handed out again when its lease ran out.
   */
  claim(query: CheckClaimQuery): Effect.Effect<ReadonlyArray<ClaimedCheck>, StoreUnavailable>
  /**
   * Settles a claim, if its lease is still the check's; false when it is not. Answers go to every
   * pending result of their phone; the check is completed with its last one.
   */
  settle(settlement: CheckSettlement, now: number): Effect.Effect<boolean, StoreUnavailable>
  /** Drops the checks that were completed before that moment, with their results. */
  forget(completedBefore: number): Effect.Effect<void, StoreUnavailable>
}
