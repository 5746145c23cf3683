/**
 * Lists of messages, newest first: keyset by id, so that page 10,000 costs what page 1 does. The
 * text of the statement follows from the filters that are set. Each list is a merge of a few ordered
 * scans, of which every one finds nothing but what belongs on the page: a filter that matches nothing
 * reads nothing, however many messages there are.
 */
import { messageStatuses, pageOf, transitions } from "@messaging-service/core"
import type {
  Message,
  MessageFilter,
  CallerScope,
  MessageStatus,
  NumberId,
  PageOf,
  PageQuery,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import { rowsOver } from "../database/Database.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, bigints, instant, text, texts } from "../database/Fields.ts"
import type { Kind } from "../database/Fields.ts"
import { parameterOf } from "../database/Statement.ts"
import { messageColumns, messageNames, toMessage } from "./messageRow.ts"
import type { MessageRow } from "./messageRow.ts"

/**
 * Ids are given out at acceptance and times read a little earlier, on several machines: filters by time
 * allow for that disorder, and still compare the times themselves.
 */
export const slack = "interval '2 minutes'"

const Listed = rowsOver(messageNames)

export const listMessages =
  (database: DatabaseService) =>
  (
    scope: CallerScope,
    filter: MessageFilter,
    page: PageQuery,
    now: number,
  ): Effect.Effect<PageOf<Message>, StoreUnavailable> => {
    const { parameters, statement } = compose(scope, filter, page, now)
    return Effect.map(
      database.list<MessageRow>(scope.workspaceId, "message.list", statement, parameters, Listed),
      (rows) => pageOf(rows.map(toMessage), page.limit),
    )
  }

/** Which numbers' messages may be shown; null for those of the whole workspace. */
const numbersOf = (
  { restriction }: CallerScope,
  { from }: MessageFilter,
): ReadonlyArray<NumberId> | null => {
  if (from === null) return restriction
  return restriction === null || restriction.includes(from) ? [from] : []
}

/** Adds a parameter; returns its placeholder. */
type Bind = <In>(kind: Kind<In>, value: In) => string

/** The statement and its parameters. */
export const compose = (
  scope: CallerScope,
  filter: MessageFilter,
  page: PageQuery,
  now: number,
): { readonly statement: string; readonly parameters: ReadonlyArray<unknown> } => {
  const parameters: Array<unknown> = []
  const bind: Bind = (kind, value) => `$${parameters.push(parameterOf(kind, value))}`

  const workspace = bind(bigint, scope.workspaceId)
  const mode = bind(text, scope.mode)
  const idAt = (moment: string) => `(select :code.message_id_at(${workspace}, ${mode}, ${moment}))`
  const conditions = [`m.mode = ${mode}`]
  if (page.before !== null) conditions.push(`m.id < ${bind(bigint, page.before)}`)
  if (filter.since !== null) {
    const since = bind(instant, filter.since)
    conditions.push(`m.created_at >= ${since}`, `m.id >= ${idAt(`${since} - ${slack}`)}`)
  }
  if (filter.until !== null) {
    const until = bind(instant, filter.until)
    conditions.push(`m.created_at < ${until}`, `m.id < ${idAt(`${until} + ${slack}`)}`)
  }

  const numbers = numbersOf(scope, filter)
  const list: List = {
    workspace,
    conditions,
    numbers: numbers === null ? null : bind(bigints, numbers),
    // Inlined: of a parameter the planner would have to assume a tenth of the table.
    limit: Math.trunc(page.limit) + 1,
  }
  const { phone, statuses } = filter
  if (phone === null && statuses === null && list.numbers === null) {
    return { statement: ofWorkspace(list), parameters }
  }
  const waiting = waitingCondition(statuses, bind, now)
  const stored = storedStates(statuses ?? messageStatuses)
  const wanted: Wanted = {
    ended: bind(texts, stored),
    all: bind(texts, waiting === null ? stored : [...stored, "waiting"]),
    waiting,
  }
  const statement =
    phone !== null
      ? ofPhone(list, bind(text, phone), wanted)
      : list.numbers === null
        ? ofWorkspaceStates(list, wanted)
        : merged(ofNumbers(list, wanted))
  return { statement, parameters }
}

/** The stored states that are asked for. */
interface Wanted {
  /** The placeholder of those of messages that do not wait. */
  readonly ended: string
  /** That of all of them. */
  readonly all: string
  /** Which of the messages that wait are meant; null for none. */
  readonly waiting: string | null
}

/** What every form of the list is made from. */
interface List {
  /** The placeholder of the workspace's id. */
  readonly workspace: string
  /** That of the numbers' ids; null for those of the whole workspace. */
  readonly numbers: string | null
  /** Mode, page and time. */
  readonly conditions: ReadonlyArray<string>
  readonly limit: number
}

const every = (conditions: ReadonlyArray<string>): string => conditions.join("\n    and ")

// Index messages_by_workspace.
const ofWorkspace = ({ conditions, limit, workspace }: List): string => `
select ${messageColumns("m")}
from messages m
where ${every([`m.workspace_id = ${workspace}`, ...conditions])}
order by m.id desc
limit ${limit}`

/** The ids of one scan for each row of `source`, merged: no more of each than the page shows. */
const idsOf = (
  { limit }: List,
  source: string,
  conditions: ReadonlyArray<string>,
  order = "m.id",
): string => `
  select m.id
  from ${source}
  cross join lateral (
    select m.id
    from messages m
    where ${every(conditions)}
    order by ${order} desc
    limit ${limit}
  ) m
  order by m.id desc
  limit ${limit}`

/** The messages of a page whose ids are found. */
const merged = (ids: string): string => `
select ${messageColumns("m")}
from (${ids}
) page
join messages m on m.id = page.id
order by m.id desc`

/** The workspace's numbers, removed ones included. Index numbers_ever_by_workspace. */
const workspaceNumbers = ({ numbers, workspace }: List): string => `(
    select n.id
    from numbers n
    where n.workspace_id = ${workspace}${numbers === null ? "" : `\n      and n.id = any (${numbers})`}
  ) n`

/**
 * One scan for each state of each number: to filter the workspace's messages by number would read
 * through those of all others to find the few of a quiet one. Messages that wait are in an index of
 * their own, in the order in which they fall due, so that all of a number's are read: another one in
 * the order of their ids would cost every acceptance. Indexes messages_by_number_and_state and
 * messages_waiting.
 */
const ofNumbers = (list: List, { ended, waiting }: Wanted): string => {
  const source = workspaceNumbers(list)
  const ofNumber = "m.number_id = n.id"
  const ids = idsOf(list, `${source}\n  cross join unnest(${ended}) s (state)`, [
    ofNumber,
    "m.state = s.state",
    "m.state <> 'waiting'",
    ...list.conditions,
  ])
  if (waiting === null) return ids
  const waitingIds = idsOf(
    list,
    source,
    [ofNumber, "m.state = 'waiting'", waiting, ...list.conditions],
    // Of no index: one in the order of the ids holds every message.
    "(m.id + 0)",
  )
  return `
  select either.id
  from (
    (${ids})
    union all
    (${waitingIds})
  ) either
  order by either.id desc
  limit ${list.limit}`
}

/** How many of the newest messages are looked through before one scan is made for each number. */
const nearby = 1000

/**
 * Messages of a whole workspace in some states. The newest messages mostly hold a page of the states
 * that are common, and then it is done; those of a rare state are looked up number by number. An index
 * of a workspace's states would spare the second look, and cost every change of a message's state.
 */
const ofWorkspaceStates = (list: List, wanted: Wanted): string => {
  const { conditions, limit, workspace } = list
  return `
with near as materialized (
  select m.id
  from (
    select m.id, m.state, m.send_at
    from messages m
    where ${every([`m.workspace_id = ${workspace}`, ...conditions])}
    order by m.id desc
    limit ${nearby}
  ) m
  where ${every([`m.state = any (${wanted.all})`, ...onlyThese(wanted.waiting)])}
  order by m.id desc
  limit ${limit}
)
${merged(`
  select near.id
  from near
  where (select count(*) from near) = ${limit}
  union all
  select far.id
  from (${ofNumbers(list, wanted)}
  ) far
  where (select count(*) from near) < ${limit}`)}`
}

/** Of the messages that wait only those that are meant. */
const onlyThese = (waiting: string | null): ReadonlyArray<string> =>
  waiting === null || waiting === always ? [] : [`(m.state <> 'waiting' or ${waiting})`]

/**
 * One scan for each state of what went to that phone. Index messages_by_phone. Of some numbers' lists
 * it reads what the others sent to the same phone too.
 */
const ofPhone = (list: List, phone: string, { all, waiting }: Wanted): string =>
  merged(
    idsOf(list, `unnest(${all}) s (state)`, [
      `m.workspace_id = ${list.workspace}`,
      `m.to_phone = ${phone}`,
      "m.state = s.state",
      ...onlyThese(waiting),
      ...(list.numbers === null ? [] : [`m.number_id = any (${list.numbers})`]),
      ...list.conditions,
    ]),
  )

/** What a message is stored as, but for those that wait: `queued` and `scheduled` are one stored state. */
const storedStates = (statuses: ReadonlyArray<MessageStatus>): ReadonlyArray<string> =>
  statuses.filter((status) => status in transitions)

const always = "true"

/** Which of the two statuses the core's `statusAt` tells of a message that waits. */
const isQueued = (message: string, now: string): string =>
  `:code.is_queued(${message}.send_at, ${now})`
const isScheduled = (message: string, now: string): string =>
  `:code.is_scheduled(${message}.send_at, ${now})`

/** Which waiting messages are meant: queued, scheduled or both; null for none. */
const waitingCondition = (
  statuses: ReadonlyArray<MessageStatus> | null,
  bind: Bind,
  now: number,
): string | null => {
  const queued = statuses === null || statuses.includes("queued")
  const scheduled = statuses === null || statuses.includes("scheduled")
  if (queued && scheduled) return always
  if (queued) return isQueued("m", bind(instant, now))
  return scheduled ? isScheduled("m", bind(instant, now)) : null
}
