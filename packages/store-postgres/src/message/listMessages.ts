/**
 * Lists of messages, newest first: keyset by id, so that page 10,000 costs what page 1 does. The
 * text of the statement follows from the filters that are set; each has one good plan.
 */
import type {
  Message,
  MessageFilter,
  MessageScope,
  MessageStatus,
  NumberId,
  PageOf,
  PageQuery,
  StoreUnavailable,
} from "@messaging-service/core"
import { pageOf } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, bigints, instant, text, texts } from "../database/parameters.ts"
import { messageIdAt, slack } from "./messageIdAt.ts"
import { messageColumns, toMessage } from "./messageRow.ts"
import type { MessageRow } from "./messageRow.ts"

export const list =
  (database: DatabaseService) =>
  (
    scope: MessageScope,
    filter: MessageFilter,
    page: PageQuery,
    now: number,
  ): Effect.Effect<PageOf<Message>, StoreUnavailable> => {
    const { parameters, statement } = compose(scope, filter, page, now)
    return Effect.map(database.query<MessageRow>("message.list", statement, parameters), (rows) =>
      pageOf(rows.map(toMessage), page.limit),
    )
  }

/** Which numbers' messages may be shown; null for those of the whole workspace. */
const numbersOf = (
  { restriction }: MessageScope,
  { from }: MessageFilter,
): ReadonlyArray<NumberId> | null => {
  if (from === null) return restriction
  return restriction === null || restriction.includes(from) ? [from] : []
}

const compose = (scope: MessageScope, filter: MessageFilter, page: PageQuery, now: number) => {
  const parameters: Array<unknown> = []
  const bind = (value: unknown): string => `$${parameters.push(value)}`

  const workspace = bind(bigint(scope.workspaceId))
  const mode = bind(text(scope.mode))
  const idAt = (moment: string) => `(select ${messageIdAt.name}(${workspace}, ${mode}, ${moment}))`
  const conditions = [`m.mode = ${mode}`]
  if (page.before !== null) conditions.push(`m.id < ${bind(bigint(page.before))}`)
  if (filter.phone !== null) conditions.push(`m.to_phone = ${bind(text(filter.phone))}`)
  if (filter.statuses !== null) {
    conditions.push(statusCondition(filter.statuses, bind, now))
  }
  if (filter.since !== null) {
    const since = bind(instant(filter.since))
    conditions.push(`m.created_at >= ${since}`, `m.id >= ${idAt(`${since} - ${slack}`)}`)
  }
  if (filter.until !== null) {
    const until = bind(instant(filter.until))
    conditions.push(`m.created_at < ${until}`, `m.id < ${idAt(`${until} + ${slack}`)}`)
  }

  // Inlined: of a parameter the planner would have to assume a tenth of the table.
  const limit = Math.trunc(page.limit) + 1
  const numbers = numbersOf(scope, filter)
  const statement =
    numbers === null
      ? ofWorkspace([`m.workspace_id = ${workspace}`, ...conditions], limit)
      : ofNumbers(workspace, bind(bigints(numbers)), conditions, limit)
  return { statement, parameters }
}

// Index messages_by_workspace.
const ofWorkspace = (conditions: ReadonlyArray<string>, limit: number): string => `
select ${messageColumns("m")}
from messages m
where ${conditions.join("\n  and ")}
order by m.id desc
limit ${limit}`

/**
 * One scan of index `messages_by_number` for each number, merged: to filter the workspace's messages
 * by number would read through everybody else's to find those of a quiet one. That the numbers are
 * the workspace's is asked of their lanes, so that no other index offers itself.
 */
const ofNumbers = (
  workspace: string,
  numbers: string,
  conditions: ReadonlyArray<string>,
  limit: number,
): string => `
select ${messageColumns("m")}
from lanes l
cross join lateral (
  select *
  from messages m
  where m.number_id = l.number_id
    and ${conditions.join("\n    and ")}
  order by m.id desc
  limit ${limit}
) m
where l.number_id = any (${numbers})
  and l.workspace_id = ${workspace}
order by m.id desc
limit ${limit}`

/** `queued` and `scheduled` are one stored state, told apart by the time. */
const statusCondition = (
  statuses: ReadonlyArray<MessageStatus>,
  bind: (value: unknown) => string,
  now: number,
): string => {
  const moment = bind(instant(now))
  const stored = statuses.filter((status) => status !== "queued" && status !== "scheduled")
  const alternatives = [`m.state = any (${bind(texts(stored))})`]
  if (statuses.includes("queued")) {
    alternatives.push(`m.state = 'waiting' and (m.send_at is null or m.send_at <= ${moment})`)
  }
  if (statuses.includes("scheduled")) {
    alternatives.push(`m.state = 'waiting' and m.send_at > ${moment}`)
  }
  return `(${alternatives.join(" or ")})`
}
