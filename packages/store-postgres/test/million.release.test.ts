/**
 * What operators ask for, in a database with 1,000,000 messages, 200,000 events and as many attempts at
 * deliveries. Only this finds a plan that changes with the size of the tables and their statistics, a
 * read that a small table hides within its limit, and a walk that has no end of its own. Rows are
 * counted, not time.
 */
import { assert, layer } from "@effect/vitest"
import { dailyQuota, everyMessage, maxCounted, readSpan, Store } from "@messaging-service/core"
import type {
  CallerScope,
  MessageFilter,
  MessageId,
  NumberId,
  Phone,
  WaitingFilter,
  WorkspaceId,
} from "@messaging-service/core"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Context, Effect, Layer } from "effect"
import type { DatabaseService } from "../src/database/Database.ts"
import { layer as layerStores } from "../src/index.ts"
import { aDatabase, aDatabaseClient } from "./databases.ts"
import { anExplainingPool, rowsRead } from "./QueryPlans.ts"

const messages = 1_000_000
const limit = 50
/** As the service asks. */
const scannedTexts = 50_000
const textsWalked = 10 * scannedTexts
const workspaceId = 1 as WorkspaceId
const busy = 1 as NumberId
/** Has one message in 1,000. */
const rare = 5 as NumberId
const start = Date.UTC(2026, 0, 1)
const second = 1000
const hour = 3600 * second
/** Four numbers send about 1,000 a day each, as many as they may. */
const apart = 20 * second
const now = start + messages * apart
/** The newest are due, and others are scheduled. */
const queued = 4000
const scheduledEvery = 200

const stage = [
  `
insert into workspaces (
  name, demo, account_disabled, api_v2_enabled, admits, plan_reminders, plan_qr_code_api,
  plan_media_storage_bytes, created_at
)
select 'Workspace ' || place, false, false, true, true, false, false, 0, to_timestamp(0)
from generate_series(1, 5) place`,
  // Five numbers of the large workspace, and one of each other.
  `
insert into numbers (workspace_id, phone, label, platform, status, login_method, created_at)
select greatest(number - 4, 1), null, '', 'whatsapp', 'connected', 'qr', to_timestamp(0)
from generate_series(1, 9) number`,
  `
insert into lanes (number_id, workspace_id, connected)
select n.id, n.workspace_id, true
from numbers n`,
  `
insert into webhook_endpoints (
  workspace_id, mode, url, description, events, secret_salt, secret_last4, first_secret_last4, created_at
)
select w.id, 'live', 'https://shop.example', '', '{}', '', '', '', to_timestamp(0)
from workspaces w
order by w.id`,
]

/** One message in 100 is of the small workspaces; one event in five is still there. */
const load = `
insert into messages (
  id, workspace_id, number_id, created_at, due_at, send_at, sent_at, allowance_taken, mode, state,
  platform, from_phone, to_kind, to_phone, text, error_code, error_message, transport_id, reference,
  event_position
)
select
  place,
  case when place % 100 = 0 then 2 + place / 100 % 4 else 1 end,
  case when place % 100 = 0 then 6 + place / 100 % 4 when place % 1000 = 501 then 5 else 1 + place % 4 end,
  at.moment,
  coalesce(at.later, at.moment),
  at.later,
  case when told.state in ('sent', 'delivered', 'read') then at.moment end,
  true, 'live', told.state, 'whatsapp', '15550000001', 'phone',
  case when place % 3000 = 7 then '+15550000007' else '+1555' || 1000000 + place % 50000 end,
  case when place % 100000 = 77 then 'A rare bird' else 'Hello' end,
  case when told.state = 'failed' then case when place % 4000 = 11 then 'group_not_found' else 'send_failed' end end,
  case when told.state = 'failed' then 'It failed.' end,
  place::text,
  case when place % 3000 = 7 then 'order 7' when place % 2 = 0 then 'spring' end,
  case when place % 5 = 0 and told.state <> 'waiting' then place end
from generate_series(1, ${messages}) place
cross join lateral (
  select
    to_timestamp($1::float8 / 1000) + place * interval '20 seconds' as moment,
    case when place % ${scheduledEvery} = 33 then
      to_timestamp($2::float8 / 1000) + place * interval '20 seconds'
    end as later
) at
cross join lateral (
  select case
    when at.later is not null or place > ${messages - queued} then 'waiting'
    when place % 1000 = 11 then 'failed'
    when place % 10000 = 22 then 'expired'
    when place % 100 = 44 then 'cancelled'
    when place % 3 = 0 then 'read'
    when place % 3 = 1 then 'delivered'
    else 'sent'
  end as state
) told
order by 1`

const rest = [
  `
insert into outbox (id, workspace_id, message_id, created_at, event_id, type, mode, body)
select
  m.event_position, m.workspace_id, m.id, m.created_at, 'evt_' || m.id,
  case when m.state in ('failed', 'expired', 'cancelled') then 'message.' || m.state else 'message.sent' end,
  m.mode, '{}'
from messages m
where m.event_position is not null
order by m.id`,
  `
insert into webhook_attempts (
  id, endpoint_id, outbox_id, attempted_at, duration_millis, attempt, response_status, event_id, type
)
select o.id, o.workspace_id, o.id, o.created_at, 10, 1, 200, o.event_id, o.type
from outbox o
order by o.id`,
  `
insert into webhook_deliveries (endpoint_id, outbox_id, due_at, event_id, type)
select o.workspace_id, o.id, o.created_at, o.event_id, o.type
from outbox o
where o.id % 1000 = 0`,
  `
insert into message_attempts (message_id, attempted_at, unfinished)
select m.id, m.created_at, 'postponed'
from messages m
cross join generate_series(1, 3)
where m.id % 50 = 0`,
  `
insert into hourly_figures (
  workspace_id, mode, hour, accepted, sent, failed, expired, cancelled, deliveries,
  deliveries_failed, failures, waits
)
select w.id, 'live', date_trunc('hour', max(m.created_at)) - place * interval '1 hour', 180, 179, 1, 0,
  0, 36, 0, '{}', '{}'
from workspaces w
cross join generate_series(1, 2160) place
cross join messages m
where m.id = ${messages}
group by w.id, place`,
]

/** Fills the messages while they have no index but their key: the others are built faster afterwards. */
const fill = Effect.fnUntraced(function* (database: DatabaseService) {
  const indexes = yield* database.query<{ readonly name: string; readonly definition: string }>(
    "indexes",
    `select indexname::text as name, indexdef as definition
     from pg_indexes
     where tablename = 'messages' and indexdef not like '%UNIQUE%'`,
  )
  for (const { name } of indexes) yield* database.query("drop", `drop index ${name}`)
  for (const statement of stage) yield* database.query("stage", statement)
  yield* database.query("load", load, [start, now])
  for (const { definition } of indexes) yield* database.query("index", definition)
  for (const statement of rest) yield* database.query("rest", statement)
  yield* database.query("analyze", "vacuum analyze")
})

const scope: CallerScope = { workspaceId, mode: "live", restriction: null }
const page = { before: null, limit }

/** Of a page: its messages, the phones of their numbers, and a search for the ends of a time. */
const pageRows = 200

const middle = start + (messages / 2) * apart
const few = "+15550000007" as Phone
const one = "+15551000008" as Phone
const none = "+15550000099" as Phone

/** All that wait in the large workspace: no index has them in the order of their ids. */
const waiting = 9000
const ofBusy = 1000
/** A page of every number's or of every state's, and the page itself with the numbers' phones. */
const pages = 500
/** How many of the newest are looked at for states that are common. */
const near = 1000

interface Listed {
  readonly name: string
  readonly filter: Partial<MessageFilter>
  /** Rows read at most. */
  readonly most?: number
  readonly shown?: number
}

const lists: ReadonlyArray<Listed> = [
  { name: "no filter", filter: {} },
  { name: "queued", filter: { statuses: ["queued"] } },
  {
    name: "scheduled",
    filter: { statuses: ["scheduled"] },
    most: near + waiting + pages,
  },
  ...(["sent", "delivered", "read", "failed", "expired", "cancelled"] as const).map((status) => ({
    name: status,
    filter: { statuses: [status] },
    most: near + pages,
  })),
  { name: "a number", filter: { from: busy }, most: ofBusy + pages },
  { name: "a quiet number", filter: { from: rare }, most: pages },
  { name: "a number's state", filter: { from: busy, statuses: ["sent"] } },
  { name: "a state of few", filter: { from: rare, statuses: ["failed"] }, shown: 0 },
  { name: "an error", filter: { error: "send_failed" } },
  { name: "an error of few", filter: { error: "group_not_found" } },
  { name: "an error of none", filter: { error: "outcome_unknown" }, shown: 0 },
  { name: "a reference of half", filter: { reference: "spring" }, most: pages },
  { name: "a reference of few", filter: { reference: "order 7" } },
  { name: "a reference of none", filter: { reference: "none" }, shown: 0 },
  { name: "since", filter: { since: middle } },
  { name: "until", filter: { until: middle } },
  { name: "an hour", filter: { since: middle, until: middle + hour } },
  { name: "a phone of few", filter: { phone: few } },
  { name: "a phone", filter: { phone: one }, shown: 20 },
  { name: "a phone of none", filter: { phone: none }, shown: 0 },
]

interface Searched {
  readonly name: string
  readonly text: string
  readonly filter: Partial<MessageFilter>
  readonly most: number
  readonly shown: number
}

/** PL/pgSQL reads some rows ahead of the one that ends a walk. */
const ahead = 100

const searches: ReadonlyArray<Searched> = [
  { name: "a word of most", text: "Hello", filter: {}, most: 2 * pageRows, shown: limit },
  { name: "a word of none", text: "zebra", filter: {}, most: scannedTexts + ahead, shown: 0 },
  {
    name: "a word of none in a state of few",
    text: "zebra",
    filter: { statuses: ["failed"] },
    most: textsWalked + ahead,
    shown: 0,
  },
  {
    name: "a word of none with an error of few",
    text: "zebra",
    filter: { error: "group_not_found" },
    most: textsWalked + ahead,
    shown: 0,
  },
  // So many of each of its states.
  {
    name: "a word of none from a number",
    text: "zebra",
    filter: { from: busy },
    most: textsWalked + ahead,
    shown: 0,
  },
  {
    name: "a word of most from a quiet number",
    text: "Hello",
    filter: { from: rare },
    most: 1500,
    shown: limit,
  },
]

const everyWaiting: WaitingFilter = {
  statuses: ["queued", "scheduled"],
  from: null,
  phone: null,
  since: null,
  until: null,
}

const cancels: ReadonlyArray<{
  readonly name: string
  readonly filter: Partial<WaitingFilter>
  readonly most: number
}> = [
  { name: "all", filter: {}, most: waiting },
  { name: "queued", filter: { statuses: ["queued"] }, most: waiting },
  { name: "of a phone", filter: { phone: one }, most: waiting },
  { name: "of a number", filter: { from: busy }, most: ofBusy },
  { name: "of an hour", filter: { since: middle, until: middle + hour }, most: waiting },
]

/** What that reads; nothing but the three rows of places from one end to the other. */
type Reads = <A, E>(about: string, query: Effect.Effect<A, E>, max: number) => Effect.Effect<A, E>

const makeReads =
  (readPlans: Effect.Success<ReturnType<typeof anExplainingPool>>["readPlans"]): Reads =>
  (about, query, max) =>
    Effect.gen(function* () {
      const answers: Array<Effect.Success<typeof query>> = []
      const plans = yield* readPlans(Effect.map(query, (answer) => answers.push(answer)))
      assert.isNotEmpty(plans, about)
      const text = JSON.stringify(plans.map(({ Plan }) => Plan))
      const scanned = [
        ...text.matchAll(/"Node Type":"Seq Scan"[^{}]*?"Relation Name":"([^"]+)"/g),
      ].map(([, table]) => table)
      assert.isTrue(
        scanned.every((table) => table === "figure_places"),
        `${about} scans ${scanned.join(", ")}`,
      )
      const rows = plans.reduce((sum, { Plan }) => sum + rowsRead(Plan), 0)
      assert.isAtMost(rows, max, about)
      return answers[0]!
    })

layer(EmbeddedPostgres.layer({ settings: { autovacuum: "off" } }), {
  excludeTestServices: true,
})("1,000,000 messages", (it) => {
  it.effect("cost operators a page's worth of rows, or what is documented", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      const client = yield* aDatabaseClient(database, { statementMillis: 300_000 })
      const { readPlans, pool } = yield* anExplainingPool(database)
      const stores = yield* Layer.build(layerStores({ pool }))
      yield* fill(client)
      const reads = makeReads(readPlans)
      const { figures, messages: store, numbers } = Context.get(stores, Store)

      for (const { filter, most = pageRows, name, shown = limit } of lists) {
        const list = store.list(scope, { ...everyMessage, ...filter }, page, now)
        assert.lengthOf((yield* reads(name, list, most)).items, shown, name)
      }

      for (const { filter, most, name, shown, text } of searches) {
        const search = { pattern: text, most: scannedTexts }
        const found = store.search(scope, { ...everyMessage, ...filter }, search, page, now)
        assert.lengthOf((yield* reads(name, found, most)).items, shown, name)
      }

      // Long sent, with three attempts and a delivery; due with others before it; scheduled.
      for (const [id, tries, deliveries, mostAhead] of [
        [500_050, 3, 1, 1],
        [999_999, 0, 0, 1000],
        [500_033, 0, 0, 1000],
      ] as const) {
        const query = { workspaceId, id: id as MessageId, now, limit: 201, mostAhead: 1000 }
        const about = `timeline of ${id}`
        const timelineFacts = yield* reads(about, store.timeline(query), mostAhead + 20)
        assert.lengthOf(timelineFacts!.attempts, tries, about)
        assert.lengthOf(timelineFacts!.deliveries, deliveries, about)
      }

      // All that wait, and what was sent in a day, each of them a few times.
      const connections = numbers.connections(workspaceId, now, dailyQuota, 100)
      const shown = yield* reads("connections", connections, 4 * (waiting + 5 * 1000))
      assert.lengthOf(shown, 5)

      const query = { workspaceId, mode: "live" as const }
      for (const [uncounted, max] of [
        [20_000, 20_000 + 3 * 4000],
        [200_000, maxCounted + ahead],
      ] as const) {
        const counted = "update figure_places set position = $1"
        yield* client.query("counted", counted, [messages - uncounted])
        for (const [range, hours] of [
          ["24h", 24],
          ["7d", 7 * 24],
          ["30d", 30 * 24],
        ] as const) {
          // With the span before.
          const span = readSpan(figures, query, range, now)
          yield* reads(`figures of ${range}`, span, max + 2 * (hours + 24))
        }
      }
      const present = figures.presentFigures({ ...query, now, countAtMost: maxCounted })
      yield* reads("present figures", present, waiting)

      for (const { filter, most, name } of cancels) {
        const request = { ...everyWaiting, ...filter }
        const ids = store.waitingIds(workspaceId, "live", request, now, 1001)
        yield* reads(`cancel ${name}`, ids, most)
      }
    }),
  )
})
