/** The port that reads lists by offset, each with its total and newest first. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberCheckId, WorkspaceId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"
import type { MediaFile, MediaType } from "../media/Media.ts"
import type { Message } from "../message/Message.ts"
import type { CheckResultStatus, NumberCheckResult } from "../numberCheck/NumberCheck.ts"
import type { Reminder } from "../reminder/Reminder.ts"
import type { OffsetPage, OffsetQuery } from "../request/OffsetPage.ts"

/** Whose records. */
export interface Version1ListScope {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
}

export interface Period {
  /** Created at or after. */
  readonly since: number
  /** Created before. */
  readonly until: number
}

export class Version1ListStore extends Context.Service<
  Version1ListStore,
  {
    messages(
      scope: Version1ListScope,
      period: Period,
      query: OffsetQuery,
    ): Effect.Effect<OffsetPage<Message>, StoreUnavailable>
    /** What is in the directory; `type` null for both. */
    media(
      scope: Version1ListScope,
      type: MediaType | null,
      query: OffsetQuery,
    ): Effect.Effect<OffsetPage<MediaFile>, StoreUnavailable>
    /** Paused ones included. */
    reminders(
      scope: Version1ListScope,
      query: OffsetQuery,
    ): Effect.Effect<OffsetPage<Reminder>, StoreUnavailable>
    /** Of a check, whosever it is; `status` null for all. */
    checkResults(
      id: NumberCheckId,
      status: CheckResultStatus | null,
      query: OffsetQuery,
    ): Effect.Effect<OffsetPage<NumberCheckResult>, StoreUnavailable>
  }
>()("core/Version1ListStore") {}
