/** Number checks as callers make and read them (contract: Number checks). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { IdJson, TimeJson } from "../answer/Json.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberCheckId } from "../id/Ids.ts"
import { permit, scopeOf } from "../key/Caller.ts"
import type { Caller, Permitted } from "../key/Caller.ts"
import { NumberStore } from "../number/NumberStore.ts"
import { isSeenBy } from "../number/SendingNumber.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { Cursors } from "../request/Cursor.ts"
import { Idempotent } from "../request/Idempotent.ts"
import type { Repeatable } from "../request/Idempotent.ts"
import type { IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import { described } from "../request/Described.ts"
import type { JsonPage } from "../request/Page.ts"
import { parsePageRequest } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { formatInstant } from "../time/Instant.ts"
import { askingNumber } from "./askingNumber.ts"
import { parseCheckRequest, parseResultsRequest } from "./CheckRequest.ts"
import type { CheckRequest } from "./CheckRequest.ts"
import { NumberCheckStore, checkResultStatuses, numberCheckStatuses } from "./NumberCheck.ts"
import type { NumberCheck, NumberCheckResult } from "./NumberCheck.ts"

/** How often a commit is tried anew when the number was removed under it. */
const attempts = 5

/** A number check (contract: Number checks). */
export const NumberCheckJson = Schema.Struct({
  id: Schema.Int.pipe(Schema.brand("NumberCheckId")),
  name: Schema.NullOr(Schema.String),
  status: Schema.Literals(numberCheckStatuses),
  total: described(Schema.Int, "Results, a doubled phone's each."),
  checked: described(Schema.Int, "Results that are no longer pending."),
  registered: Schema.Int,
  not_registered: Schema.Int,
  created_at: TimeJson,
  completed_at: Schema.NullOr(TimeJson),
}).annotate({ identifier: "NumberCheck" })

export type NumberCheckJson = typeof NumberCheckJson.Type

export const numberCheckJson = (check: NumberCheck): NumberCheckJson => ({
  id: check.id,
  name: check.name,
  status: check.status,
  total: check.total,
  checked: check.checked,
  registered: check.registered,
  not_registered: check.notRegistered,
  created_at: formatInstant(check.createdAt),
  completed_at: check.completedAt === null ? null : formatInstant(check.completedAt),
})

/** As it was answered when it was made, whatever was found out since. */
const madeJson = (check: NumberCheck): NumberCheckJson =>
  numberCheckJson({
    ...check,
    status: "pending",
    checked: 0,
    registered: 0,
    notRegistered: 0,
    completedAt: null,
  })

/** What was found out about one phone. */
export const CheckResultJson = Schema.Struct({
  id: IdJson,
  phone: described(Schema.String, "E.164 with a leading +."),
  status: described(Schema.Literals(checkResultStatuses), "`failed`: it could not be found out."),
  checked_at: Schema.NullOr(TimeJson),
}).annotate({ identifier: "NumberCheckResult" })

export type CheckResultJson = typeof CheckResultJson.Type

export const checkResultJson = (result: NumberCheckResult): CheckResultJson => ({
  id: result.id,
  phone: result.phone,
  status: result.status,
  checked_at: result.checkedAt === null ? null : formatInstant(result.checkedAt),
})

type Failure = Refusal | StoreUnavailable

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
      body: unknown,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<Repeatable<NumberCheckJson>, Failure>
    /** GET /number-checks: newest first. */
    list(caller: Caller, query: QueryEntries): Effect.Effect<JsonPage<NumberCheckJson>, Failure>
    /** GET /number-checks/{id}. Fails with `number_check_not_found`. */
    get(caller: Caller, id: NumberCheckId | undefined): Effect.Effect<NumberCheckJson, Failure>
    /** GET /number-checks/{id}/results: newest first. Fails with `number_check_not_found`. */
    results(
      caller: Caller,
      id: NumberCheckId | undefined,
      query: QueryEntries,
    ): Effect.Effect<JsonPage<CheckResultJson>, Failure>
  }
>()("core/NumberChecks") {
  static readonly layer = Layer.effect(
    NumberChecks,
    Effect.gen(function* () {
      const store = yield* NumberCheckStore
      const numbers = yield* NumberStore
      const idempotent = yield* Idempotent
      const cursors = yield* Cursors
      const wakeUp = yield* WakeUp

      const find = (caller: Permitted, id: NumberCheckId | undefined) =>
        Effect.gen(function* () {
          const found = id === undefined ? null : yield* store.get(scopeOf(caller), id)
          return found ?? (yield* refuse("number_check_not_found"))
        })

      const make = Effect.fnUntraced(function* (
        caller: Permitted,
        request: CheckRequest,
        claim: IdempotencyClaim | null,
      ) {
        const { name, phones } = request
        const { mode, workspaceId } = caller
        for (let attempt = 0; attempt < attempts; attempt++) {
          const all = yield* numbers.list(workspaceId)
          const known = all.filter((number) => isSeenBy(mode, number))
          const number = yield* Effect.fromResult(askingNumber(request.from, known, caller))
          const check = {
            workspaceId,
            mode,
            numberId: number.id,
            name,
            createdAt: yield* Clock.currentTimeMillis,
          }
          const inserted = yield* store.insert({ ...check, phones }, claim)
          if (inserted._tag === "Made") {
            yield* wakeUp.wake("number_checks")
            return madeJson({
              ...check,
              id: inserted.id,
              status: "pending",
              total: phones.length,
              checked: 0,
              registered: 0,
              notRegistered: 0,
              completedAt: null,
            })
          }
          if (inserted.guard === "idempotency") {
            return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
          }
        }
        return yield* refuse("number_not_found", { field: "from" })
      })

      return NumberChecks.of({
        create: Effect.fn("NumberChecks.create")(function* (given, body, requested) {
          const caller = yield* permit(given, "createNumberCheck")
          const request = yield* Effect.fromResult(parseCheckRequest(body))
          return yield* idempotent.run<NumberCheckJson, Failure>(caller, requested, {
            work: (claim) => make(caller, request, claim),
            again: ([id]) => Effect.map(find(caller, id as NumberCheckId | undefined), madeJson),
          })
          // A client that hangs up must not leave a claim behind or lose an answer half way.
        }, Effect.uninterruptible),
        list: Effect.fn("NumberChecks.list")(function* (given, entries) {
          const caller = yield* permit(given, "listNumberChecks")
          const request = yield* Effect.fromResult(parsePageRequest(entries))
          const scope = scopeOf(caller)
          const binding = ["number_checks", scope.workspaceId, scope.mode, scope.restriction]
          const before = yield* cursors.read(request.cursor, binding)
          const page = yield* store.list(scope, { before, limit: request.limit })
          return {
            data: page.items.map(numberCheckJson),
            next_cursor: cursors.make(page.next, binding),
          }
        }),
        get: Effect.fn("NumberChecks.get")(function* (given, id) {
          return numberCheckJson(yield* find(yield* permit(given, "getNumberCheck"), id))
        }),
        results: Effect.fn("NumberChecks.results")(function* (given, id, entries) {
          const caller = yield* permit(given, "listNumberCheckResults")
          const request = yield* Effect.fromResult(parseResultsRequest(entries))
          const check = yield* find(caller, id)
          const { mode, restriction, workspaceId } = scopeOf(caller)
          const { statuses } = request
          const binding = ["check_results", workspaceId, mode, restriction, check.id, statuses]
          const before = yield* cursors.read(request.cursor, binding)
          const page = yield* store.results(check.id, statuses, { before, limit: request.limit })
          return {
            data: page.items.map(checkResultJson),
            next_cursor: cursors.make(page.next, binding),
          }
        }),
      })
    }),
  )
}
