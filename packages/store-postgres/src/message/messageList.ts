/** Lists of messages, newest first; `sql/statements/message-list.sql` has the statement of each kind of filter. */
import { messageStatuses, pageOf, transitions } from "@messaging-service/core"
import type {
  CallerScope,
  Message,
  MessageFilter,
  MessageStatus,
  NumberId,
  PageOf,
  PageQuery,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { beyondIds, statement } from "../database/Sql.ts"
import { toMessage } from "./toMessage.ts"

const options = { wide: true, literal: "limit" } as const
const ofWorkspace = statement("messageList.ofWorkspace", options)
const ofStates = statement("messageList.ofStates", options)
const ofNumbers = statement("messageList.ofNumbers", options)
const ofPhone = statement("messageList.ofPhone", options)
const ofReference = statement("messageList.ofReference", options)

export const listMessages = (
  database: DatabaseService,
  scope: CallerScope,
  filter: MessageFilter,
  page: PageQuery,
  now: number,
): Effect.Effect<PageOf<Message>, StoreUnavailable> => {
  const { list, params } = listFor(scope, filter, page, now)
  return Effect.map(list.list(database, scope.workspaceId, params), (rows) =>
    pageOf(rows.map(toMessage), page.limit),
  )
}

/** The statement that finds what the filter asks for, and its parameters. */
export const listFor = (
  scope: CallerScope,
  filter: MessageFilter,
  page: PageQuery,
  now: number,
) => {
  const { phone, reference, statuses } = filter
  const wanted = statuses ?? messageStatuses
  const queued = wanted.includes("queued")
  const scheduled = wanted.includes("scheduled")
  const ended = wanted.filter(isStored)
  const numbers = numbersOf(scope, filter)
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
    ended,
    states: queued || scheduled ? [...ended, "waiting"] : ended,
    queued,
    scheduled,
    now,
  }
  if (reference !== null) return { list: ofReference, params }
  if (phone !== null) return { list: ofPhone, params }
  if (numbers !== null) return { list: ofNumbers, params }
  return { list: statuses === null ? ofWorkspace : ofStates, params }
}

/** Which numbers' messages may be shown; null for those of the whole workspace. */
const numbersOf = (
  { restriction }: CallerScope,
  { from }: MessageFilter,
): ReadonlyArray<NumberId> | null => {
  if (from === null) return restriction
  return restriction === null || restriction.includes(from) ? [from] : []
}

/** All but those of messages that wait: `queued` and `scheduled` are one stored state. */
const isStored = (status: MessageStatus): boolean => status in transitions
