/**
 * The lists of version 1: by page or offset, with a total (contract: Version 1). Each shows records
 * as version 2 does, of the key's mode; the records are the same.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberCheckId } from "../id/Ids.ts"
import { permit, scopeOf } from "../key/Caller.ts"
import type { Caller } from "../key/Caller.ts"
import type { MediaType } from "../media/Media.ts"
import { mediaFileJson } from "../media/MediaDirectory.ts"
import type { MediaFileJson } from "../media/MediaDirectory.ts"
import { MediaLinks } from "../media/MediaLinks.ts"
import { messageJson } from "../message/messageJson.ts"
import type { MessageJson } from "../message/messageJson.ts"
import { NumberCheckStore } from "../numberCheck/NumberCheck.ts"
import type { CheckResultStatus, NumberCheckResult } from "../numberCheck/NumberCheck.ts"
import type { Reminder } from "../reminder/Reminder.ts"
import { mapOffsetPage } from "../request/OffsetPage.ts"
import type { OffsetPage, OffsetQuery } from "../request/OffsetPage.ts"
import { dayMillis } from "../request/RateWindow.ts"
import { Version1ListStore } from "./Version1ListStore.ts"

/** UTC days, by the moments (epoch milliseconds) at which they begin; both are included. */
export interface Days {
  readonly first: number
  readonly last: number
}

type Failure = Refusal | StoreUnavailable

export class Version1Lists extends Context.Service<
  Version1Lists,
  {
    /** Messages created on these days, as they stand now; newest first. */
    messages(
      caller: Caller,
      days: Days,
      query: OffsetQuery,
    ): Effect.Effect<OffsetPage<MessageJson>, Failure>
    /** Files of the media directory, newest first; `type` null for all. */
    media(
      caller: Caller,
      type: MediaType | null,
      query: OffsetQuery,
    ): Effect.Effect<OffsetPage<MediaFileJson>, Failure>
    /** Reminders, newest first, paused ones included. */
    reminders(caller: Caller, query: OffsetQuery): Effect.Effect<OffsetPage<Reminder>, Failure>
    /**
     * Results of a number check, newest first; `status` null for all. Fails with
     * `number_check_not_found`.
     */
    checkResults(
      caller: Caller,
      id: NumberCheckId | undefined,
      status: CheckResultStatus | null,
      query: OffsetQuery,
    ): Effect.Effect<OffsetPage<NumberCheckResult>, Failure>
  }
>()("core/Version1Lists") {
  static readonly layer = Layer.effect(
    Version1Lists,
    Effect.gen(function* () {
      const store = yield* Version1ListStore
      const checks = yield* NumberCheckStore
      const { link } = yield* MediaLinks
      return Version1Lists.of({
        messages: Effect.fn("Version1Lists.messages")(function* (given, { first, last }, query) {
          const caller = yield* permit(given, "listMessages")
          const period = { since: first, until: last + dayMillis }
          const page = yield* store.messages(scopeOf(caller), period, query)
          const now = yield* Clock.currentTimeMillis
          return mapOffsetPage(page, (message) => messageJson(message, now, link))
        }),
        media: Effect.fn("Version1Lists.media")(function* (given, type, query) {
          const caller = yield* permit(given, "listMedia")
          const page = yield* store.media(scopeOf(caller), type, query)
          const now = yield* Clock.currentTimeMillis
          return mapOffsetPage(page, (file) => mediaFileJson(file, now, link))
        }),
        reminders: Effect.fn("Version1Lists.reminders")(function* (given, query) {
          const caller = yield* permit(given, "listReminders")
          return yield* store.reminders(scopeOf(caller), query)
        }),
        checkResults: Effect.fn("Version1Lists.checkResults")(function* (given, id, status, query) {
          const scope = scopeOf(yield* permit(given, "listNumberCheckResults"))
          const check = id === undefined ? null : yield* checks.get(scope, id)
          if (check === null) return yield* refuse("number_check_not_found")
          return yield* store.checkResults(check.id, status, query)
        }),
      })
    }),
  )
}
