/** Number checks as callers make and read them (contract: Number checks). */
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import { findOrRefuse, refuse } from "../model/Refusal.ts"
import type { Failure, Refusal } from "../model/Refusal.ts"
import type { NumberCheckId } from "../model/Ids.ts"
import { mayUse, authorize, toScope } from "../model/Auth.ts"
import type { ApiKey, AuthorizationCode, Caller, Authorized } from "../model/Auth.ts"
import { isVisibleTo } from "../model/SendingNumber.ts"
import type { SendingNumber } from "../model/SendingNumber.ts"
import { WakeUp } from "../store/DueWork.ts"
import { parsePhone, phoneDescribed } from "../model/Recipient.ts"
import { makeIdempotent } from "./makeIdempotent.ts"
import type { IdempotentResult } from "./makeIdempotent.ts"
import type { IdempotencyCode, IdempotencyClaim, IdempotencyKey } from "../model/Idempotency.ts"
import { described, inputDecoder, optionalNameUpTo, parsed } from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import {
  makeCursors,
  namesInput,
  pageFields,
  parsePageRequest,
  queryDecoder,
} from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import { checkResultStatuses } from "../store/NumberCheckStore.ts"
import type {
  CheckResultStatus,
  NumberCheck,
  NumberCheckResult,
} from "../store/NumberCheckStore.ts"
import { Store } from "../store/Store.ts"

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
  name: described(Schema.optionalKey(Schema.NullOr(optionalNameUpTo(100))), "A note, not blank."),
  from: described(
    Schema.optionalKey(Schema.NullOr(Schema.Int)),
    "Id of the connected WhatsApp number that asks. Default: the only connected one.",
  ),
}).annotate({ identifier: "CheckNumbers" })

/** The phones to ask for. */
export type CheckNumbers = CommandOf<typeof NumberCheckBody.Encoded>

/** What is given is looked at whatever its type says: it may be JSON that nothing has checked. */
export const parseCheckNumbers = inputDecoder(NumberCheckBody, {
  codes: ["invalid_phone"],
  lists: { phones: { most: maximumPhones } },
})

/** The query of GET /number-checks/{id}/results. */
export const ResultsQuery = Schema.Struct({
  status: Schema.optionalKey(namesInput(checkResultStatuses)),
  ...pageFields,
})

/** Which results of a check. */
export interface ListCheckResults extends ListPage {
  readonly status?: CheckResultStatus | ReadonlyArray<CheckResultStatus> | undefined
}

/** From a query string's parameters, or from the values themselves. */
export const parseListCheckResults = queryDecoder(ResultsQuery)

type AskingNumberCode =
  | "validation_failed"
  | "from_required"
  | "number_not_found"
  | "number_not_allowed"
  | "number_not_connected"

/**
 * The number that a check asks from, of all of the workspace that the key's mode sees. Pure. As in
 * POST /messages without `from` the only connected number is meant, but of WhatsApp alone: Telegram
 * knows no such question.
 */
export const askingNumber = (
  from: number | null,
  numbers: ReadonlyArray<SendingNumber>,
  key: Pick<ApiKey, "numberIds">,
): Result.Result<SendingNumber, Refusal<AskingNumberCode>> => {
  const refused = (code: AskingNumberCode, message?: string) =>
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
const asCreated = (check: Omit<NumberCheck, keyof typeof unasked>): NumberCheck => ({
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
    ): Effect.Effect<
      IdempotentResult<NumberCheck>,
      Failure<
        | "number_check_not_found"
        | AuthorizationCode
        | IdempotencyCode
        | "validation_failed"
        | "invalid_phone"
        | "from_required"
        | "number_not_found"
        | "number_not_allowed"
        | "number_not_connected"
      >
    >
    /** GET /number-checks: newest first. */
    list(
      caller: Caller,
      query: ListPage,
    ): Effect.Effect<
      CursorPage<NumberCheck>,
      Failure<AuthorizationCode | "validation_failed" | "invalid_cursor">
    >
    /** GET /number-checks/{id}. Fails with `number_check_not_found`. */
    get(
      caller: Caller,
      id: NumberCheckId | undefined,
    ): Effect.Effect<NumberCheck, Failure<AuthorizationCode | "number_check_not_found">>
    /** GET /number-checks/{id}/results: newest first. Fails with `number_check_not_found`. */
    results(
      caller: Caller,
      id: NumberCheckId | undefined,
      query: ListCheckResults,
    ): Effect.Effect<
      CursorPage<NumberCheckResult>,
      Failure<AuthorizationCode | "validation_failed" | "invalid_cursor" | "number_check_not_found">
    >
  }
>()("core/NumberChecks") {
  static readonly layer = Layer.effect(
    NumberChecks,
    Effect.gen(function* () {
      const { numberChecks: store, numbers } = yield* Store

      const idempotent = yield* makeIdempotent
      const cursors = yield* makeCursors
      const wakeUp = yield* WakeUp

      const find = (caller: Authorized, id: NumberCheckId | undefined) =>
        findOrRefuse("number_check_not_found", id, (known) => store.get(toScope(caller), known))

      const make = Effect.fnUntraced(function* make(
        caller: Authorized,
        { from = null, name = null, phones }: typeof NumberCheckBody.Type,
        claim: IdempotencyClaim | null,
      ) {
        const { mode, workspaceId } = caller
        for (let attempt = 0; attempt < attempts; attempt++) {
          const all = yield* numbers.list(workspaceId)
          const known = all.filter((number) => isVisibleTo(mode, number))
          const { id: numberId } = yield* Effect.fromResult(askingNumber(from, known, caller))
          const createdAt = yield* Clock.currentTimeMillis
          const check = { workspaceId, mode, numberId, name, createdAt }
          const inserted = yield* store.insert({ ...check, phones }, claim)
          if (inserted._tag === "Made") {
            yield* wakeUp.wake("number_checks")
            return asCreated({ ...check, id: inserted.id, total: phones.length })
          }
          if (inserted.guard === "idempotency") {
            return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
          }
        }
        return yield* refuse("number_not_found", { field: "from" })
      })

      return NumberChecks.of({
        create: Effect.fn("NumberChecks.create")(function* create(input, command, requested) {
          const caller = yield* authorize(input, "createNumberCheck")
          const request = yield* Effect.fromResult(parseCheckNumbers(command))
          return yield* idempotent.run(caller, requested, {
            work: (claim) => make(caller, request, claim),
            again: ([id]) => Effect.map(find(caller, id as NumberCheckId | undefined), asCreated),
          })
        }),
        list: Effect.fn("NumberChecks.list")(function* list(input, query) {
          const scope = toScope(yield* authorize(input, "listNumberChecks"))
          const request = yield* Effect.fromResult(parsePageRequest(query))
          const binding = ["number_checks", scope.workspaceId, scope.mode, scope.restriction]
          return yield* cursors.page(request, binding, (page) => store.list(scope, page))
        }),
        get: Effect.fn("NumberChecks.get")(function* get(input, id) {
          return yield* find(yield* authorize(input, "getNumberCheck"), id)
        }),
        results: Effect.fn("NumberChecks.results")(function* results(input, id, query) {
          const caller = yield* authorize(input, "listNumberCheckResults")
          const request = yield* Effect.fromResult(parseListCheckResults(query))
          const check = yield* find(caller, id)
          const { mode, restriction, workspaceId } = toScope(caller)
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
