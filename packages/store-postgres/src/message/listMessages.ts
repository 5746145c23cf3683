/**
 * Lists of messages, newest first: keyset by id, so that page 10,000 costs what page 1 does. The
 * text of the statement follows from the filters that are set. Each list is a merge of a few ordered
 * scans, of which every one finds nothing but what belongs on the page: a filter that matches nothing
 * reads nothing, however many messages there are.
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
import { messageStatuses, pageOf, transitions } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, bigints, instant, text, texts } from "../database/parameters.ts"
import { messageIdAt, slack } from "./messageIdAt.ts"
import { messageColumns, toMessage } from "./messageRow.ts"
import type { MessageRow } from "./messageRow.ts"

export const listMessages =
  (database: DatabaseService) =>
  (
    scope: MessageScope,
    filter: MessageFilter,
    page: PageQuery,
    now: number,
  ): Effect.Effect<PageOf<Message>, StoreUnavailable> => {
    const { parameters, statement } = compose(scope, filter, page, now)
    return Effect.map(
      database.list<MessageRow>(scope.workspaceId, "message.list", statement, parameters),
      (rows) => pageOf(rows.map(toMessage), page.limit),
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

/** The statement and its parameters. */
export const compose = (
  scope: MessageScope,
  filter: MessageFilter,
  page: PageQuery,
  now: number,
): { readonly statement: string; readonly parameters: ReadonlyArray<unknown> } => {
  const parameters: Array<unknown> = []
  const bind = (value: unknown): string => `$${parameters.push(value)}`

  const workspace = bind(bigint(scope.workspaceId))
  const mode = bind(text(scope.mode))
  const idAt = (moment: string) => `(select ${messageIdAt.name}(${workspace}, ${mode}, ${moment}))`
  const conditions = [`m.mode = ${mode}`]
  if (page.before !== null) conditions.push(`m.id < ${bind(bigint(page.before))}`)
  if (filter.since !== null) {
    const since = bind(instant(filter.since))
    conditions.push(`m.created_at >= ${since}`, `m.id >= ${idAt(`${since} - ${slack}`)}`)
  }
  if (filter.until !== null) {
    const until = bind(instant(filter.until))
    conditions.push(`m.created_at < ${until}`, `m.id < ${idAt(`${until} + ${slack}`)}`)
  }

  const numbers = numbersOf(scope, filter)
  const list: List = {
    workspace,
    conditions,
    numbers: numbers === null ? null : bind(bigints(numbers)),
    oneNumber: numbers?.length === 1,
    // Inlined: of a parameter the planner would have to assume a tenth of the table.
    limit: Math.trunc(page.limit) + 1,
  }
  const { phone, statuses } = filter
  const stored = storedStates(statuses ?? messageStatuses)
  const waiting = statuses === null ? null : waitingCondition(statuses, bind, now)
  if (phone !== null) {
    const includesWaiting = statuses === null || waiting !== null
    const states = includesWaiting ? [...stored, "waiting"] : stored
    return {
      statement: ofPhone(list, bind(text(phone)), bind(texts(states)), waiting),
      parameters,
    }
  }
  if (statuses === null) {
    return { statement: list.numbers === null ? ofWorkspace(list) : ofNumbers(list), parameters }
  }
  const branches = [
    ...(stored.length === 0 ? [] : [ofStates(list, bind(texts(stored)))]),
    ...(waiting === null ? [] : [waitingOf(list, waiting)]),
  ]
  return { statement: union(branches, list), parameters }
}

/** What every form of the list is made from. */
interface List {
  /** The placeholder of the workspace's id. */
  readonly workspace: string
  /** That of the numbers' ids; null for those of the whole workspace. */
  readonly numbers: string | null
  readonly oneNumber: boolean
  /** Mode, page and time: what every scan can use, since all indexes go by mode and id. */
  readonly conditions: ReadonlyArray<string>
  readonly limit: number
}

const every = (conditions: ReadonlyArray<string>): string => conditions.join("\n    and ")

const newestFirst = ({ limit }: List, order = "m.id"): string => `order by ${order} desc
  limit ${limit}`

/** One scan for each row of `source`, merged. */
const merged = (
  list: List,
  source: string,
  conditions: ReadonlyArray<string>,
  order?: string,
): string => `
select ${messageColumns("m")}
from ${source}
cross join lateral (
  select *
  from messages m
  where ${every(conditions)}
  ${newestFirst(list, order)}
) m
${newestFirst(list)}`

// Index messages_by_workspace.
const ofWorkspace = (list: List): string => `
select ${messageColumns("m")}
from messages m
where ${every([`m.workspace_id = ${list.workspace}`, ...list.conditions])}
${newestFirst(list)}`

/**
 * The lanes of the list's numbers. That the numbers are the workspace's is asked of their lanes, so
 * that no other index of the messages offers itself. Index lanes_by_workspace.
 */
const lanesOf = ({ numbers, workspace }: List): string => `(
  select l.number_id
  from lanes l
  where l.workspace_id = ${workspace}${numbers === null ? "" : `\n    and l.number_id = any (${numbers})`}
) l`

/**
 * One scan for each number, merged: to filter the workspace's messages by number would read through
 * everybody else's to find those of a quiet one. Index messages_by_number.
 */
const ofNumbers = (list: List): string =>
  merged(list, lanesOf(list), ["m.number_id = l.number_id", ...list.conditions])

/** What a message is stored as; `queued` and `scheduled` are one stored state, see below. */
const storedStates = (statuses: ReadonlyArray<MessageStatus>): ReadonlyArray<string> =>
  statuses.filter((status) => status in transitions)

/**
 * One scan for each state, of each number where the list is of some. Indexes messages_by_state and
 * messages_by_number_and_state, which hold no message that waits: so they cost acceptance nothing.
 */
const ofStates = (list: List, states: string): string => {
  const conditions = ["m.state = s.state", "m.state <> 'waiting'", ...list.conditions]
  const source = `unnest(${states}) s (state)`
  return list.numbers === null
    ? merged(list, source, [`m.workspace_id = ${list.workspace}`, ...conditions])
    : merged(list, `${lanesOf(list)}\ncross join ${source}`, [
        "m.number_id = l.number_id",
        ...conditions,
      ])
}

/**
 * One scan for each state of what went to that phone. Index messages_by_phone. Of some numbers' lists
 * it reads what the others sent to the same phone too.
 */
const ofPhone = (list: List, phone: string, states: string, waiting: string | null): string =>
  merged(list, `unnest(${states}) s (state)`, [
    `m.workspace_id = ${list.workspace}`,
    `m.to_phone = ${phone}`,
    "m.state = s.state",
    ...(waiting === null ? [] : [`(m.state <> 'waiting' or ${waiting})`]),
    ...(list.numbers === null ? [] : [`m.number_id = any (${list.numbers})`]),
    ...list.conditions,
  ])

/** Which of the messages that wait are meant, told apart by the time; null for none. */
const waitingCondition = (
  statuses: ReadonlyArray<MessageStatus>,
  bind: (value: unknown) => string,
  now: number,
): string | null => {
  const queued = statuses.includes("queued")
  const scheduled = statuses.includes("scheduled")
  if (queued && scheduled) return "true"
  if (queued) return `(m.send_at is null or m.send_at <= ${bind(instant(now))})`
  return scheduled ? `m.send_at > ${bind(instant(now))}` : null
}

/** How many of the newest messages are looked through before all that wait are. */
const nearby = 1000

/**
 * Messages that wait. An index of them by id would cost every acceptance, so they are read from that
 * of the lanes: all of them, and none that do not wait. Where very many wait, the newest messages are
 * mostly of them: a list whose page is found among those is done. Index messages_waiting.
 */
const waitingOf = (list: List, waiting: string): string => {
  const { conditions, limit, numbers, oneNumber, workspace } = list
  const isWaiting = ["m.state = 'waiting'", waiting]
  const all = merged(
    list,
    lanesOf(list),
    ["m.number_id = l.number_id", ...isWaiting, ...conditions],
    // The order of the ids is not to be read from an index that holds every message.
    "(m.id + 0)",
  )
  if (numbers !== null && !oneNumber) return all
  const newest = (whose: string): string => `(
    select *
    from messages m
    where ${every([whose, ...conditions])}
    order by m.id desc
    limit ${nearby}
  ) m`
  const near = `near as materialized (
  select m.*
  from ${
    numbers === null
      ? newest(`m.workspace_id = ${workspace}`)
      : `${lanesOf(list)}\n  cross join lateral ${newest("m.number_id = l.number_id")}`
  }
  where ${every(isWaiting)}
  ${newestFirst(list)}
)`
  return `
with ${near}
select ${messageColumns("m")}
from near m
where (select count(*) from near) = ${limit}
union all
select *
from (${all}) m
where (select count(*) from near) < ${limit}`
}

const union = (branches: ReadonlyArray<string>, list: List): string => `
select m.*
from (
${branches.map((branch) => `(${branch})`).join("\nunion all\n")}
) m
${newestFirst(list)}`
