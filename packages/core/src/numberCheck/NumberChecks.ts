/** Number checks as callers make and read them (contract: Number checks). */
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import { findOrRefuse, refuse } from "../error/Refusal.ts"
import type { Code, Failure, Refusal, StoreUnavailable } from "../error/Refusal.ts"
import type { NumberCheckId, NumberId, WorkspaceId } from "../Ids.ts"
import { mayUse, authorize, scopeOf } from "../key/Auth.ts"
import type { ApiKey, Caller, CallerScope, Authorized } from "../key/Auth.ts"
import type { LeaseClaim, Shares } from "../limit/Bulkhead.ts"
import { NumberStore } from "../number/NumberStore.ts"
import { isSeenBy } from "../number/SendingNumber.ts"
import type { SendingNumber } from "../number/SendingNumber.ts"
import { WakeUp } from "../queue/DueWork.ts"
import { isOpen } from "../queue/Lane.ts"
import type { Standing } from "../queue/Lane.ts"
import { parsePhone, phoneDescribed } from "../recipient/Recipient.ts"
import type { Phone } from "../recipient/Recipient.ts"
import { makeIdempotent } from "../request/Idempotency.ts"
import type { IdempotencyClaim, IdempotencyKey, Repeatable } from "../request/Idempotency.ts"
import { described, inputDecoder, optionalNameUpTo, parsed } from "../request/Input.ts"
import {
  makeCursors,
  namesInput,
  pageFields,
  parsePageRequest,
  queryDecoder,
} from "../request/Page.ts"
import type { CursorPage, ListPage, PageOf, PageQuery } from "../request/Page.ts"
import { isOwned } from "../transport/Shards.ts"
import type { Owned } from "../transport/Shards.ts"
import type { PhonesOutcome } from "../transport/Transport.ts"
import type { Mode } from "../workspace/Workspace.ts"

// A number check: a list of phones, and which of them WhatsApp knows (contract: Number checks). The
// worker asks chunk by chunk, so that a long list is neither one call nor lost by a crash; how long a
// chunk may take, and what comes of it, is here too.

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
export const isAskedBy = (
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
  const countOf = (status: CheckResultStatus) => answered.filter((one) => one === status).length
  const checked = check.checked + answered.length
  const isComplete = checked === check.total
  return {
    checked,
    registered: check.registered + countOf("registered"),
    notRegistered: check.notRegistered + countOf("not_registered"),
    status: isComplete ? "completed" : check.status,
    completedAt: isComplete ? now : null,
  }
}

/** How long a check and its results can be looked at once it is completed. */
export const checksKeptMillis = 30 * 24 * 60 * 60 * 1000

export type NewNumberCheck = Pick<
  NumberCheck,
  "workspaceId" | "mode" | "numberId" | "name" | "createdAt"
> & {
  /** Never empty; in the order of the results' ids. */
  readonly phones: ReadonlyArray<Phone>
}

/** Which precondition no longer held; nothing was written. */
export type BrokenCheckGuard = "idempotency" | "number"

export type CheckInsertion =
  | { readonly _tag: "Made"; readonly id: NumberCheckId }
  | { readonly _tag: "Broken"; readonly guard: BrokenCheckGuard }

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
  const answered = (statusOf: (phone: Phone) => Exclude<CheckResultStatus, "pending">) =>
    ({
      _tag: "Answered",
      id,
      lease,
      answers: phones.map((phone) => ({ phone, status: statusOf(phone) })),
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

export class NumberCheckStore
  extends /*#__PURE__*/ Context.Service<
    NumberCheckStore,
    {
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
      get(
        scope: CallerScope,
        id: NumberCheckId,
      ): Effect.Effect<NumberCheck | null, StoreUnavailable>
      /** Newest first. */
      list(
        scope: CallerScope,
        page: PageQuery,
      ): Effect.Effect<PageOf<NumberCheck>, StoreUnavailable>
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
       * check whose lease ran out is handed out again.
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
  >()("core/NumberCheckStore") {}

export const maximumPhones = 1000

/** The body of POST /number-checks. */
export const NumberCheckBody = Schema.Struct({
  phones: Schema.Array(parsed("invalid_phone", parsePhone, phoneDescribed)).check(
    Schema.makeFilter(
      (phones) =>
        phones.length >= 1 && phones.length <= maximumPhones
          ? undefined
          : `must name 1 to ${maximumPhones} phones`,
      { toJsonSchema: () => ({ minItems: 1, maxItems: maximumPhones }) },
    ),
  ),
  name: described(
    Schema.optionalKey(Schema.NullOr(optionalNameUpTo(100))),
    "A note; not white space alone.",
  ),
  from: described(
    Schema.optionalKey(Schema.NullOr(Schema.Int)),
    "Id of the connected WhatsApp number that asks; without it the only connected one.",
  ),
}).annotate({ identifier: "CheckNumbers" })

/** The phones to ask for: in the words of the body. */
export type CheckNumbers = typeof NumberCheckBody.Encoded

/** What is given is looked at whatever its type says: it may be JSON that nothing has checked. */
export const parseCheckNumbers = inputDecoder(NumberCheckBody, {
  lists: { phones: { most: maximumPhones } },
})

/** The query of GET /number-checks/{id}/results. */
export const ResultsQuery = Schema.Struct({
  status: Schema.optionalKey(namesInput(checkResultStatuses)),
  ...pageFields,
})

/** Which results of a check. */
export interface ListCheckResults extends ListPage {
  readonly status?: CheckResultStatus | ReadonlyArray<CheckResultStatus>
}

/** From a query string's parameters, or from the values themselves. */
export const parseListCheckResults = queryDecoder(ResultsQuery)

/**
 * The number that a check asks from, of all of the workspace that the key's mode sees. Pure. As in
 * POST /messages without `from` the only connected number is meant, but of WhatsApp alone: Telegram
 * knows no such question.
 */
export const askingNumber = (
  from: number | null,
  numbers: ReadonlyArray<SendingNumber>,
  key: Pick<ApiKey, "numberIds">,
): Result.Result<SendingNumber, Refusal> => {
  const refused = (code: Code, message?: string) =>
    Result.fail(refuse(code, { field: "from", ...(message === undefined ? {} : { message }) }))
  if (from === null) {
    const [only, another] = numbers.filter(
      ({ platform, status }) => platform === "whatsapp" && status === "connected",
    )
    return only !== undefined && another === undefined && mayUse(key, only.id)
      ? Result.succeed(only)
      : refused("from_required")
  }
  const named = numbers.find(({ id }) => id === from)
  if (named === undefined) return refused("number_not_found")
  if (!mayUse(key, named.id)) return refused("number_not_allowed")
  if (named.platform !== "whatsapp") {
    return refused("validation_failed", "A number check needs a WhatsApp number.")
  }
  return named.status === "connected" ? Result.succeed(named) : refused("number_not_connected")
}

/** As it was made, whatever was found out since. */
const asMade = (check: Omit<NumberCheck, keyof typeof unasked>): NumberCheck => ({
  ...check,
  ...unasked,
})

const unasked = {
  status: "pending",
  checked: 0,
  registered: 0,
  notRegistered: 0,
  completedAt: null,
} as const

/** Commits to try while numbers are removed meanwhile. */
const attempts = 5

export class NumberChecks extends Context.Service<
  NumberChecks,
  {
    /**
     * POST /number-checks: the worker then asks for the phones. Fails with `validation_failed`,
     * `invalid_phone`, `number_not_found`, `number_not_allowed`, `number_not_connected`,
     * `from_required` and the codes of idempotency.
     */
    create(
      caller: Caller,
      command: CheckNumbers,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<Repeatable<NumberCheck>, Failure>
    /** GET /number-checks: newest first. */
    list(caller: Caller, query: ListPage): Effect.Effect<CursorPage<NumberCheck>, Failure>
    /** GET /number-checks/{id}. Fails with `number_check_not_found`. */
    get(caller: Caller, id: NumberCheckId | undefined): Effect.Effect<NumberCheck, Failure>
    /** GET /number-checks/{id}/results: newest first. Fails with `number_check_not_found`. */
    results(
      caller: Caller,
      id: NumberCheckId | undefined,
      query: ListCheckResults,
    ): Effect.Effect<CursorPage<NumberCheckResult>, Failure>
  }
>()("core/NumberChecks") {
  static readonly layer = Layer.effect(
    NumberChecks,
    Effect.gen(function* () {
      const store = yield* NumberCheckStore
      const numbers = yield* NumberStore
      const idempotent = yield* makeIdempotent
      const cursors = yield* makeCursors
      const wakeUp = yield* WakeUp

      const find = (caller: Authorized, id: NumberCheckId | undefined) =>
        findOrRefuse("number_check_not_found", id, (known) => store.get(scopeOf(caller), known))

      const make = Effect.fnUntraced(function* make(
        caller: Authorized,
        { from = null, name = null, phones }: typeof NumberCheckBody.Type,
        claim: IdempotencyClaim | null,
      ) {
        const { mode, workspaceId } = caller
        for (let attempt = 0; attempt < attempts; attempt++) {
          const all = yield* numbers.list(workspaceId)
          const known = all.filter((number) => isSeenBy(mode, number))
          const { id: numberId } = yield* Effect.fromResult(askingNumber(from, known, caller))
          const createdAt = yield* Clock.currentTimeMillis
          const check = { workspaceId, mode, numberId, name, createdAt }
          const inserted = yield* store.insert({ ...check, phones }, claim)
          if (inserted._tag === "Made") {
            yield* wakeUp.wake("number_checks")
            return asMade({ ...check, id: inserted.id, total: phones.length })
          }
          if (inserted.guard === "idempotency") {
            return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
          }
        }
        return yield* refuse("number_not_found", { field: "from" })
      })

      return NumberChecks.of({
        create: Effect.fn("NumberChecks.create")(function* create(given, command, requested) {
          const caller = yield* authorize(given, "createNumberCheck")
          const request = yield* Effect.fromResult(parseCheckNumbers(command))
          return yield* idempotent.run<NumberCheck, Failure>(caller, requested, {
            work: (claim) => make(caller, request, claim),
            again: ([id]) => Effect.map(find(caller, id as NumberCheckId | undefined), asMade),
          })
          // A client that hangs up must not leave a claim behind or lose an answer half way.
        }, Effect.uninterruptible),
        list: Effect.fn("NumberChecks.list")(function* list(given, query) {
          const scope = scopeOf(yield* authorize(given, "listNumberChecks"))
          const request = yield* Effect.fromResult(parsePageRequest(query))
          const binding = ["number_checks", scope.workspaceId, scope.mode, scope.restriction]
          return yield* cursors.page(request, binding, (page) => store.list(scope, page))
        }),
        get: Effect.fn("NumberChecks.get")(function* get(given, id) {
          return yield* find(yield* authorize(given, "getNumberCheck"), id)
        }),
        results: Effect.fn("NumberChecks.results")(function* results(given, id, query) {
          const caller = yield* authorize(given, "listNumberCheckResults")
          const request = yield* Effect.fromResult(parseListCheckResults(query))
          const check = yield* find(caller, id)
          const { mode, restriction, workspaceId } = scopeOf(caller)
          const { status = null } = request
          const binding = ["check_results", workspaceId, mode, restriction, check.id, status]
          return yield* cursors.page(request, binding, (page) =>
            store.results(check.id, status, page),
          )
        }),
      })
    }),
  )
}
