/** Lists of messages, newest first; `sql/statements/message-list.sql` has the statement of each kind of filter. */
import { messageStatuses, getPage, transitions } from "@messaging-service/core"
import type {
  CallerScope,
  Message,
  MessageFilter,
  MessageId,
  MessageStatus,
  NumberId,
  PageOf,
  PageQuery,
  StoreUnavailable,
  TextSearch,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { beyondIds, millis, statement } from "../database/Sql.ts"
import { toMessage } from "./toMessage.ts"

const options = { wide: true, literal: "limit" } as const
const ofWorkspace = statement("messageList.ofWorkspace", options)
const ofStates = statement("messageList.ofStates", options)
const ofNumbers = statement("messageList.ofNumbers", options)
const ofPhone = statement("messageList.ofPhone", options)
const ofReference = statement("messageList.ofReference", options)
const ofError = statement("messageList.ofError", options)
const searchTexts = statement("search_messages")

export const listMessages = (
  database: DatabaseService,
  scope: CallerScope,
  filter: MessageFilter,
  page: PageQuery,
  now: number,
): Effect.Effect<PageOf<Message>, StoreUnavailable> => {
  const { list, params } = listFor(scope, filter, page, now)
  return Effect.map(list.list(database, scope.workspaceId, params), (rows) =>
    getPage(rows.map(toMessage), page.limit),
  )
}

/** The ids of a page of messages with matching text, and where the next page starts. */
export const searchMessages = (
  database: DatabaseService,
  scope: CallerScope,
  filter: MessageFilter,
  { most, pattern }: TextSearch,
  page: PageQuery,
  now: number,
) => {
  const { params } = listFor(scope, filter, page, now)
  return searchTexts.one(
    database,
    {
      workspace: params.workspaceId,
      mode: params.mode,
      pattern,
      before: params.before,
      since: params.since,
      until: params.until,
      numbers: params.numbers,
      ended: params.ended,
      queued: params.queued,
      scheduled: params.scheduled,
      error: params.error,
      reference: params.reference,
      now,
      most,
      limit: page.limit,
    },
    (row) => ({
      ids: row.ids.map((id) => Number(id) as MessageId),
      next: row.next_id === null ? null : Number(row.next_id),
      lookedUntil: millis(row.oldest_at),
    }),
  )
}

/** The statement that finds what the filter asks for, and its parameters. */
export const listFor = (
  scope: CallerScope,
  filter: MessageFilter,
  page: PageQuery,
  now: number,
) => {
  const { error, phone, reference, statuses } = filter
  const requested = statuses ?? messageStatuses
  const queued = requested.includes("queued")
  const scheduled = requested.includes("scheduled")
  const ended = requested.filter(isStored)
  const numbers = findNumbers(scope, filter)
  const params = {
    workspaceId: scope.workspaceId,
    mode: scope.mode,
    before: page.before ?? beyondIds,
    since: filter.since ?? -Infinity,
    until: filter.until ?? Infinity,
    limit: page.limit + 1,
    numbers,
    phone,
    reference,
    error,
    ended,
    states: queued || scheduled ? [...ended, "waiting"] : ended,
    queued,
    scheduled,
    now,
  }
  if (error !== null) return { list: ofError, params }
  if (reference !== null) return { list: ofReference, params }
  if (phone !== null) return { list: ofPhone, params }
  if (numbers !== null) return { list: ofNumbers, params }
  return { list: statuses === null ? ofWorkspace : ofStates, params }
}

/** Which numbers' messages may be shown; null for those of the whole workspace. */
const findNumbers = (
  { restriction }: CallerScope,
  { from }: MessageFilter,
): ReadonlyArray<NumberId> | null => {
  if (from === null) return restriction
  return restriction === null || restriction.includes(from) ? [from] : []
}

/** All but those of messages that wait: `queued` and `scheduled` are one stored state. */
const isStored = (status: MessageStatus): boolean => status in transitions
