/**
 * The lists of version 1: by page or offset, newest first and with a total (contract: Version 1). The
 * records are version 2's, of the key's mode. What is added meanwhile shifts such pages;
 * `request/Page.ts` has those that do not shift.
 */
import { Context, Effect, Layer } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Code, Failure } from "../model/Refusal.ts"
import type { NumberCheckId } from "../model/Ids.ts"
import { dayMillis, authorize, toScope } from "../model/Auth.ts"
import type { AuthorizationCode, Caller } from "../model/Auth.ts"
import type { MediaFile, MediaType } from "../model/Media.ts"
import type { Message } from "../model/Message.ts"
import type { CheckResultStatus, NumberCheckResult } from "../store/NumberCheckStore.ts"
import type { Reminder } from "../model/Reminder.ts"
import type { OffsetPage, OffsetQuery } from "../store/Version1ListStore.ts"
import { Store } from "../store/Store.ts"

/** UTC days, by the moments (epoch milliseconds) at which they begin; both are included. */
export interface Days {
  readonly first: number
  readonly last: number
}

type Answered<A, C extends Code = never> = Effect.Effect<
  OffsetPage<A>,
  Failure<AuthorizationCode | C>
>

export class Version1Lists
  extends /*#__PURE__*/ Context.Service<
    Version1Lists,
    {
      /** Messages created on these days. */
      messages(caller: Caller, days: Days, query: OffsetQuery): Answered<Message>
      /** Files of the media directory; `type` null for all. */
      media(caller: Caller, type: MediaType | null, query: OffsetQuery): Answered<MediaFile>
      /** Paused ones included. */
      reminders(caller: Caller, query: OffsetQuery): Answered<Reminder>
      /** Results of a number check; `status` null for all. Fails with `number_check_not_found`. */
      checkResults(
        caller: Caller,
        id: NumberCheckId | undefined,
        status: CheckResultStatus | null,
        query: OffsetQuery,
      ): Answered<NumberCheckResult, "number_check_not_found">
    }
  >()("core/Version1Lists")
{
  static readonly layer = /*#__PURE__*/ Layer.effect(
    Version1Lists,
    /*#__PURE__*/ Effect.gen(function* () {
      const { version1Lists: store, numberChecks: checks } = yield* Store

      return Version1Lists.of({
        messages: Effect.fn("Version1Lists.messages")(function* messages(
          input,
          { first, last },
          query,
        ) {
          const scope = toScope(yield* authorize(input, "listMessages"))
          return yield* store.messages(scope, { since: first, until: last + dayMillis }, query)
        }),
        media: Effect.fn("Version1Lists.media")(function* media(input, type, query) {
          return yield* store.media(toScope(yield* authorize(input, "listMedia")), type, query)
        }),
        reminders: Effect.fn("Version1Lists.reminders")(function* reminders(input, query) {
          return yield* store.reminders(toScope(yield* authorize(input, "listReminders")), query)
        }),
        checkResults: Effect.fn("Version1Lists.checkResults")(
          function* checkResults(input, id, status, query) {
            const scope = toScope(yield* authorize(input, "listNumberCheckResults"))
            const check = id === undefined ? null : yield* checks.get(scope, id)
            if (check === null) return yield* refuse("number_check_not_found")
            return yield* store.checkResults(check.id, status, query)
          },
        ),
      })
    }),
  )
}
