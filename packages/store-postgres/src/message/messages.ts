/** Messages: accepting, reading, ending, and what the worker's sweeps look for. */
import {
  messageStatuses,
  modesSeenBy,
  movedByTick,
  pageOf,
  transitions,
} from "@messaging-service/core"
import type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  BrokenGuard,
  CallerScope,
  ClaimOutcome,
  Contact,
  ContactId,
  ExactQuota,
  MediaFile,
  MediaId,
  Message,
  MessageChange,
  MessageEvent,
  MessageFilter,
  MessageId,
  MessageStatus,
  MessageStore,
  NewMessage,
  NumberFacts,
  NumberId,
  PageOf,
  PageQuery,
  Phone,
  Plan,
  Recipient,
  RefusedMessage,
  SendingNumber,
  StoreUnavailable,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { coalesced, coalescing, lockPatience } from "../database/Coalesced.ts"
import { rowsOver } from "../database/Database.ts"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  boolean,
  columnsOf,
  idOrNull,
  instant,
  integer,
  integers,
  jsonb,
  listed,
  millis,
  text,
  texts,
  within,
  without,
} from "../database/Fields.ts"
import type { FieldsOf, Kind, RowOf } from "../database/Fields.ts"
import {
  call,
  each,
  given,
  joinable,
  joinableCall,
  joined,
  kept,
  parameterOf,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import type { Parameters } from "../database/Statement.ts"
import { plannedTime } from "../queue/lane.ts"
import { claimColumns, releaseClaim } from "../request/idempotency.ts"
import { sqlFiles } from "../sql.generated.ts"
import { callbackColumns } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"

// A message as its table keeps it, and back.

/** What the end of a message writes; all else is written at acceptance. */
type EndField = "state" | "sentAt" | "error" | "foundMediaType"

/** What acceptance writes. */
const acceptedColumns = columnsOf({
  workspaceId: { workspace_id: bigint((message) => message.workspaceId) },
  mode: { mode: text((message) => message.mode) },
  // Its phone is the number's while the message waits.
  from: {
    number_id: bigint((message) => message.from.id),
    platform: text((message) => message.from.platform),
  },
  phoneAtAcceptance: { from_phone: text((message) => message.phoneAtAcceptance) },
  to: {
    to_kind: text(({ to }) => to.kind),
    to_phone: text(({ to }) => ("phone" in to ? to.phone : null)),
    to_name: text(({ to }) =>
      to.kind === "group" ? to.group : "username" in to ? to.username : null,
    ),
    to_contact_id: bigint(({ to }) => ("contactId" in to ? to.contactId : null)),
  },
  text: { text: text((message) => message.text) },
  media: {
    media_id: bigint(({ media }) => media?.mediaId ?? null),
    attachment_id: bigint(({ media }) => media?.attachmentId ?? null),
    media_url: text(({ media }) => media?.url ?? null),
    media_type: text(({ media }) => media?.type ?? null),
    media_file_name: text(({ media }) => media?.fileName ?? null),
  },
  sendAt: { send_at: instant((message) => message.sendAt) },
  expiresAt: { expires_at: instant((message) => message.expiresAt) },
  createdAt: { created_at: instant((message) => message.createdAt) },
  dueAt: { due_at: instant((message) => message.dueAt) },
  transportId: { transport_id: text((message) => message.transportId) },
  callbackUrl: { callback_url: text((message) => message.callbackUrl) },
} satisfies FieldsOf<Omit<Message, EndField | "id">>)

const stateColumns = columnsOf({
  state: { state: text((message) => message.state) },
  sentAt: { sent_at: instant((message) => message.sentAt) },
  error: {
    error_code: text(({ error }) => error?.code ?? null),
    error_message: text(({ error }) => error?.message ?? null),
  },
  foundMediaType: { found_media_type: text((message) => message.foundMediaType) },
} satisfies FieldsOf<Pick<Message, EndField>>)

const endColumns = {
  ...stateColumns,
  /**
   * The phone that it left from: nothing where that is the one of its acceptance, which is nearly
   * always; an empty text where there is none.
   */
  end_phone: text(({ from, phoneAtAcceptance }: Message) =>
    from.phone === phoneAtAcceptance ? null : (from.phone ?? ""),
  ),
}

const columns = {
  id: bigint((message: Message) => message.id),
  ...acceptedColumns,
  ...stateColumns,
}

export type MessageRow = RowOf<typeof columns> & {
  /** The one that is shown. */
  readonly phone: string | null
}

const phoneOfNumber = (alias: string): string => `(
      select sender.phone
      from numbers sender
      where sender.id = ${alias}.number_id
    )`

/**
 * The columns to select from the table of that alias. The phone that is shown is the number's while
 * the message waits, then what its end wrote down; `numberPhone` where the number is at hand.
 */
export const messageColumns = (alias: string, numberPhone = phoneOfNumber(alias)): string =>
  `${listed(columns, (name) =>
    name === "due_at" ? `${plannedTime(alias)} as due_at` : `${alias}.${name}`,
  )}, :code.shown_phone(
    ${alias}.state, ${numberPhone}, ${alias}.end_phone, ${alias}.from_phone
  ) as phone`

/** What these columns are. */
const messageAnswer = { ...columns, phone: text(() => null) }

/** The names of these columns, in their order. */
export const messageNames = [...Object.keys(columns), "phone"]

export const toMessage = (row: MessageRow): Message => ({
  id: Number(row.id) as MessageId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode,
  state: row.state,
  from: { id: Number(row.number_id) as NumberId, phone: row.phone, platform: row.platform },
  phoneAtAcceptance: row.from_phone,
  to: toRecipient(row),
  text: row.text,
  media:
    row.media_id === null && row.media_url === null && row.attachment_id === null
      ? null
      : {
          mediaId: idOrNull<MediaId>(row.media_id),
          attachmentId: idOrNull<MediaId>(row.attachment_id),
          url: row.media_url,
          type: row.media_type,
          fileName: row.media_file_name,
        },
  foundMediaType: row.found_media_type,
  sendAt: millis(row.send_at),
  expiresAt: millis(row.expires_at),
  createdAt: row.created_at.getTime(),
  dueAt: row.due_at.getTime(),
  sentAt: millis(row.sent_at),
  error:
    row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? "" },
  transportId: row.transport_id,
  callbackUrl: row.callback_url,
})

const toRecipient = (row: MessageRow): Recipient => {
  const contactId = idOrNull<ContactId>(row.to_contact_id)
  const phone = row.to_phone ?? ("" as Phone)
  const name = row.to_name ?? ""
  switch (row.to_kind) {
    case "phone":
      return { kind: "phone", phone, contactId }
    case "group":
      return { kind: "group", group: name }
    case "contact_phone":
      return { kind: "contact_phone", contactId: contactId ?? (0 as ContactId), phone }
    case "contact_username":
      return { kind: "contact_username", contactId: contactId ?? (0 as ContactId), username: name }
    case "username":
      return { kind: "username", username: name }
  }
}

// What a batch of acceptances is told as parameters of one call, and what each of them is answered.

/** What a batch of acceptances is told, and their messages, in the same order. */
interface Batch {
  /** Ordered by number. */
  readonly acceptances: ReadonlyArray<Acceptance>
  readonly messages: ReadonlyArray<NewMessage>
  /** How long it may wait for a row, in milliseconds; null in a caller's transaction, which says so itself. */
  readonly patience: number | null
}

const acceptanceColumns = columnsOf({
  now: { p_now: instant((one) => one.now) },
  workspaceId: { p_workspace: bigint((one) => one.workspaceId) },
  numberId: { p_number: bigint((one) => one.numberId) },
  mode: { p_live: boolean((one) => one.mode === "live") },
  messages: {
    p_count: integer((one) => one.messages.length),
    p_due_at: instant((one) => one.messages[0]?.dueAt ?? null),
  },
  allowance: { p_allowance: integer((one) => one.allowance) },
  quota: {
    p_quota_at: instant(({ quota }) => quota?.plannedAt ?? null),
    p_quota_count: integer(({ quota }) => quota?.count ?? null),
    p_quota_limit: integer(({ quota }) => quota?.limit.messages ?? null),
    p_quota_window_millis: bigint(({ quota }) => quota?.limit.windowMillis ?? null),
  },
  idempotency: within((one: Pick<Acceptance, "idempotency">) => one.idempotency, claimColumns),
} satisfies FieldsOf<Acceptance>)

/** The rest of a message its acceptance says. */
const newMessageColumns = without(acceptedColumns, "workspace_id", "number_id", "mode")

export const acceptParameters: Parameters<Batch> = joined(
  part("acceptances", each(acceptanceColumns)),
  single({
    m_acceptance: integers(({ acceptances }: Pick<Batch, "acceptances">) =>
      acceptances.flatMap(({ messages }, index) => messages.map(() => index + 1)),
    ),
  }),
  part("messages", each(newMessageColumns, "m_")),
  single({ p_patience: integer(({ patience }: Pick<Batch, "patience">) => patience) }),
)

export const batchOf = (
  acceptances: ReadonlyArray<Acceptance>,
  patience: number | null,
): Batch => ({
  acceptances,
  messages: acceptances.flatMap(({ messages }) => messages),
  patience,
})

export interface OutcomeRow<Guard = BrokenGuard> {
  readonly guard: BrokenGuard | Guard | null
  readonly ids: ReadonlyArray<bigint> | null
}

export const toOutcome = <Guard = BrokenGuard>({ guard, ids }: OutcomeRow<Guard>) =>
  guard === null
    ? ({ _tag: "Accepted", ids: (ids ?? []).map((id) => Number(id) as MessageId) } as const)
    : ({ _tag: "Broken", guard } as const)

// Accepting messages: one call of `accept_messages` writes whole acceptances, each on its own.

export const acceptMessages = sqlFunction("accept_messages", acceptParameters)

export const acceptStatement = joinableCall(
  "accept",
  acceptMessages,
  kept({ guard: text, ids: bigints }),
)

/** Writes acceptances in one round trip; one outcome for each, in their order. */
const accept = (database: DatabaseService) => (acceptances: ReadonlyArray<Acceptance>) => {
  const order = acceptances
    .map((_, index) => index)
    .toSorted((a, b) => numberAt(acceptances, a) - numberAt(acceptances, b))
  const sorted = order.flatMap((index) => acceptances[index] ?? [])
  const accepted = Effect.flatMap(lockPatience, (patience) =>
    acceptStatement.rows<OutcomeRow>(database, batchOf(sorted, patience)),
  )
  return Effect.map(accepted, (rows) => {
    const outcomes: Array<AcceptanceOutcome> = []
    for (const [position, row] of rows.entries()) {
      outcomes[order[position] ?? position] = toOutcome(row)
    }
    return outcomes
  })
}

const numberAt = (acceptances: ReadonlyArray<Acceptance>, index: number): number =>
  acceptances[index]?.numberId ?? 0

// Ending messages, and what each end writes beside the message: its event with the deliveries to
// webhook endpoints, its callback, and the allowance that is given back. Settling an attempt writes the
// same in a function of its own.

/** All else of an event its message says. */
const eventColumns = columnsOf({
  id: { event_id: text((event) => event.id) },
  type: { event_type: text((event) => event.type) },
  createdAt: { event_at: instant((event) => event.createdAt) },
  body: { event_body: text((event) => event.body) },
} satisfies FieldsOf<Omit<MessageEvent, "workspaceId" | "mode" | "messageId">>)

/** How a change is reported. */
const reportFields = {
  event: within((change: Pick<MessageChange, "event">) => change.event, eventColumns),
  callback: within((change: Pick<MessageChange, "callback">) => change.callback, callbackColumns),
} satisfies FieldsOf<Pick<MessageChange, "event" | "callback">>

const reportColumns = columnsOf(reportFields)

export const changeColumns = columnsOf({
  message: within((change: Pick<MessageChange, "message">) => change.message, endColumns),
  givesBack: { gives_back: boolean((change) => change.givesBack) },
  ...reportFields,
} satisfies FieldsOf<MessageChange>)

export interface EndedRow {
  readonly message_id: bigint
  /** Of all of them together: whether deliveries were queued. */
  readonly queued: boolean
}

/** The messages of these rows; tells of deliveries. */
export const endedIds = (
  rows: Effect.Effect<ReadonlyArray<EndedRow>, StoreUnavailable>,
  tell: Effect.Effect<void>,
) =>
  rows.pipe(
    Effect.tap(([row]) => (row?.queued === true ? tell : Effect.void)),
    Effect.map((found) => new Set(found.map((row) => Number(row.message_id) as MessageId))),
  )

const endingColumns = {
  number_id: bigint(({ message }: MessageChange) => message.from.id),
  message_id: bigint(({ message }: MessageChange) => message.id),
  ...changeColumns,
}

const endMessages = sqlFunction(
  "end_messages",
  joined(taking({ now: instant }), part("changes", each(endingColumns, "p_"))),
)

const endStatement = call("end", endMessages)

const end =
  (database: DatabaseService, { tell }: DeliveriesQueued) =>
  (changes: ReadonlyArray<MessageChange>) => {
    if (changes.length === 0) return Effect.succeed(new Set<MessageId>())
    const now = changes.reduce((latest, { event }) => Math.max(latest, event.createdAt), -Infinity)
    // Of several for one message the first stands: which one the server takes depends on its plan.
    const first = new Map(changes.toReversed().map((change) => [change.message.id, change]))
    const input = { now, changes: changes.filter((one) => first.get(one.message.id) === one) }
    return endedIds(endStatement.rows<EndedRow>(database, input), tell)
  }

const refusedColumns = {
  id: bigint((message: Message) => message.id),
  ...acceptedColumns,
  ...endColumns,
}

const insertRefusedMessage = sqlFunction(
  "insert_refused_message",
  joined(part("message", single(refusedColumns, "m_")), single(reportColumns, "p_")),
)

const nextId = joinable(
  "message.nextId",
  given({}),
  kept({ id: bigint }),
)`select nextval('messages_id_seq') as id`

const insert = joinableCall(
  "message.insertRefused",
  insertRefusedMessage,
  kept({ queued: boolean }),
)

const insertRefused =
  (database: DatabaseService, { tell }: DeliveriesQueued) =>
  (refused: RefusedMessage) =>
    Effect.gen(function* () {
      const id = yield* nextId.value<bigint>(database, {})
      const change = refused.ended(Number(id) as MessageId)
      const queued = yield* insert.value<boolean>(database, change)
      if (queued === null) return null
      if (queued) yield* tell
      return change
    })

// Lists of messages, newest first: keyset by id, so that page 10,000 costs what page 1 does. The
// text of the statement follows from the filters that are set. Each list is a merge of a few ordered
// scans, of which every one finds nothing but what belongs on the page: a filter that matches nothing
// reads nothing, however many messages there are.

/**
 * Ids are given out at acceptance and times read a little earlier, on several machines: filters by time
 * allow for that disorder, and still compare the times themselves.
 */
export const slack = "interval '2 minutes'"

const Listed = rowsOver(messageNames)

const listMessages =
  (database: DatabaseService) =>
  (
    scope: CallerScope,
    filter: MessageFilter,
    page: PageQuery,
    now: number,
  ): Effect.Effect<PageOf<Message>, StoreUnavailable> => {
    const { parameters, sqlText } = compose(scope, filter, page, now)
    return Effect.map(
      database.list<MessageRow>(scope.workspaceId, "message.list", sqlText, parameters, Listed),
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
): { readonly sqlText: string; readonly parameters: ReadonlyArray<unknown> } => {
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
    return { sqlText: ofWorkspace(list), parameters }
  }
  const waiting = waitingCondition(statuses, bind, now)
  const stored = storedStates(statuses ?? messageStatuses)
  const wanted: Wanted = {
    ended: bind(texts, stored),
    all: bind(texts, waiting === null ? stored : [...stored, "waiting"]),
    waiting,
  }
  const sqlText =
    phone !== null
      ? ofPhone(list, bind(text, phone), wanted)
      : list.numbers === null
        ? ofWorkspaceStates(list, wanted)
        : merged(ofNumbers(list, wanted))
  return { sqlText, parameters }
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

// The facts that acceptance decides on, in one round trip, with the claim of the `Idempotency-Key`.
// The claim comes first, and only a later statement looks for a finished request: a finished one
// gave its claim up in the same commit, so that a claim that was won while a record exists is given
// back. A claim that is refused leaves the other facts unread.

interface LoadedNumber {
  readonly number: SendingNumber
  readonly bound: number
  readonly fullUntil: number | null
  readonly exact: ExactQuota | null
}

interface Loaded {
  readonly claim?: ClaimOutcome
  readonly plan?: Plan | null
  readonly numbers?: ReadonlyArray<LoadedNumber> | null
  readonly contactIds?: Readonly<Record<Phone, ContactId>> | null
  readonly contacts?: ReadonlyArray<Contact> | null
  readonly media?: MediaFile | null
  readonly exact?: ExactQuota | null
}

/** Queries are answered in the order of the list, claims included. */
export const loadStatement = joinable(
  "loadAcceptance",
  given({ queries: jsonb }),
  kept({ facts: jsonb }),
)`
select :code.load_acceptance(asked.query) as facts
from jsonb_array_elements($queries::jsonb) with ordinality asked (query, place)
order by asked.place`

const load = (database: DatabaseService) => (queries: ReadonlyArray<AcceptanceQuery>) => {
  // Two batches that claim the same keys must take them in the same order, and no lane before.
  const order = queries
    .map((query, index) => ({ index, rank: rankOf(query) }))
    .toSorted((a, b) => (a.rank === b.rank ? 0 : a.rank < b.rank ? -1 : 1))
  return lockPatience.pipe(
    Effect.flatMap((patience) =>
      loadStatement.rows<{ readonly facts: Loaded | null }>(database, {
        queries: order.map(({ index }) => ({ ...toJson(queries[index]), patience })),
      }),
    ),
    Effect.map((rows) => {
      const facts: Array<AcceptanceFacts> = []
      for (const [position, { index }] of order.entries()) {
        const query = queries[index]
        if (query !== undefined) facts[index] = toFacts(query, rows[position]?.facts ?? {})
      }
      return facts
    }),
  )
}

/** Times as text: PostgreSQL would make inexact floating point numbers of milliseconds. */
const iso = (at: number): string => new Date(at).toISOString()

const toJson = (query: AcceptanceQuery | undefined) =>
  query && {
    ...query,
    seen: modesSeenBy(query.mode),
    now: iso(query.now),
    exactQuota: query.exactQuota && {
      ...query.exactQuota,
      planned: {
        ...query.exactQuota.planned,
        plannedAt: iso(query.exactQuota.planned.plannedAt),
      },
    },
  }

const rankOf = ({ exactQuota, idempotency }: AcceptanceQuery): string =>
  `${exactQuota === null ? 0 : 1} ${idempotency?.keyId ?? 0} ${idempotency?.key ?? ""}`

const toFacts = (query: AcceptanceQuery, loaded: Loaded): AcceptanceFacts => {
  const numbers = (loaded.numbers ?? []).map(
    ({ bound, exact, fullUntil, number }): NumberFacts => ({
      number,
      quota: {
        bound,
        fullUntil,
        exact: query.exactQuota?.numberId === number.id ? (loaded.exact ?? null) : exact,
      },
    }),
  )
  const contactIds = Object.entries(loaded.contactIds ?? {})
  return {
    claim: query.idempotency === null ? null : (loaded.claim ?? { _tag: "Claimed" }),
    plan: loaded.plan ?? null,
    named: query.from === null ? null : (numbers[0] ?? null),
    connected: query.from === null ? numbers : [],
    contactIdByPhone: new Map(contactIds.map(([phone, id]) => [phone as Phone, id])),
    contacts: new Map((loaded.contacts ?? []).map((contact) => [contact.id, contact])),
    media: loaded.media ?? null,
  }
}

const getMessage = statement(
  "message.get",
  given({ id: bigint, workspaceId: bigint, mode: text, restriction: bigints }),
)(sqlFiles["statements/message/get-message.sql"])

const messagesByIds = joinable("message.byIds", given({ ids: bigints }), messageAnswer)`
select ${messageColumns("m")}
from unnest($ids::bigint[]) with ordinality asked (id, place)
join messages m on m.id = asked.id
order by asked.place`

const expiredMessages = statement(
  "message.expired",
  given({ now: instant, limit: integer }),
)(sqlFiles["statements/message/expired-messages.sql"])

const dueTestMessages = statement(
  "message.dueTest",
  given({ now: instant, limit: integer, perWorkspace: integer }),
)(sqlFiles["statements/message/due-test-messages.sql"])

const orphanedMessages = statement(
  "message.orphaned",
  given({ limit: integer }),
)(sqlFiles["statements/message/orphaned-messages.sql"])

// Index messages_by_transport_id.
const getByTransportId = statement(
  "message.byTransportId",
  given({ numberId: bigint, transportId: text }),
)`
select ${messageColumns("m")}
from messages m
where m.transport_id = $transportId
  and m.number_id = $numberId
limit 1`

const tickMessage = statement(
  "message.tick",
  given({ numberId: bigint, transportId: text, from: texts, state: text }),
)(sqlFiles["statements/message/tick-message.sql"])

/** What a request that looks for its claim needs alone. */
const claimOf = ({ idempotency }: AcceptanceQuery): string | null =>
  idempotency === null ? null : `${idempotency.keyId} ${idempotency.key}`

export const messageStore = Effect.fnUntraced(function* (
  database: DatabaseService,
  queued: DeliveriesQueued,
) {
  const store: typeof MessageStore.Service = {
    loadAcceptance: yield* coalesced(load(database), coalescing(database), claimOf),
    accept: yield* coalesced(accept(database), coalescing(database), ({ numberId }) => numberId),
    insertRefused: insertRefused(database, queued),
    releaseClaim: (claim) => releaseClaim.run(database, claim),
    get: (scope, id) =>
      getMessage.first(
        database,
        { ...scope, id },
        (row: MessageRow & { readonly in_flight: boolean }) => ({
          message: toMessage(row),
          inFlight: row.in_flight,
        }),
      ),
    byIds: (ids) =>
      ids.length === 0
        ? Effect.succeed<ReadonlyArray<Message>>([])
        : messagesByIds.all(database, { ids }, toMessage),
    list: listMessages(database),
    end: end(database, queued),
    expired: (now, limit) => expiredMessages.all(database, { now, limit }, toMessage),
    dueTest: (now, limit, perWorkspace) =>
      dueTestMessages.all(database, { now, limit, perWorkspace }, toMessage),
    orphaned: (limit) => orphanedMessages.all(database, { limit }, toMessage),
    byTransportId: (numberId, transportId) =>
      getByTransportId.first(database, { numberId, transportId }, toMessage),
    tick: (numberId, transportId, state) =>
      tickMessage.first(
        database,
        { numberId, transportId, from: movedByTick[state], state },
        toMessage,
      ),
  }
  return store
})
