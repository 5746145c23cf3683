/** What the store reads for version 1: lists by offset, each with its total. */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { NumberCheckId } from "../model/Ids.ts"
import type { CallerScope } from "../model/Auth.ts"
import type { MediaFile, MediaType } from "../model/Media.ts"
import type { Message } from "../model/Message.ts"
import type { CheckResultStatus, NumberCheckResult } from "./NumberCheckStore.ts"
import type { Reminder } from "../model/Reminder.ts"

export interface OffsetQuery {
  /** Records to leave out at the front. */
  readonly offset: number
  readonly limit: number
}

export interface OffsetPage<A> {
  /** Of all pages. */
  readonly total: number
  readonly items: ReadonlyArray<A>
}

/** Page `page` (1 is the first) of a list with that many records on a page. */
export const offsetOfPage = (page: number, size: number): OffsetQuery => ({
  offset: (page - 1) * size,
  limit: size,
})

/** The owner of the records. */
export type Version1ListScope = Omit<CallerScope, "restriction">

export interface Period {
  /** Created at or after. */
  readonly since: number
  /** Created before. */
  readonly until: number
}

type Listed<A> = Effect.Effect<OffsetPage<A>, StoreUnavailable>

/** The port that reads them. */
export interface Version1ListStore {
  messages(scope: Version1ListScope, period: Period, query: OffsetQuery): Listed<Message>
  /** What is in the directory; `type` null for both. */
  media(scope: Version1ListScope, type: MediaType | null, query: OffsetQuery): Listed<MediaFile>
  /** Paused ones included. */
  reminders(scope: Version1ListScope, query: OffsetQuery): Listed<Reminder>
  /** Results of a check of any workspace; `status` null for all. */
  checkResults(
    id: NumberCheckId,
    status: CheckResultStatus | null,
    query: OffsetQuery,
  ): Listed<NumberCheckResult>
}
