/** How the connections of numbers stand: what processes report of them, and all that tells of one. */
import type {
  ConnectionFacts,
  ConnectionReport,
  KeptReport,
  NumberStore,
  Pause,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant, integer, listed, millis, selected, text } from "../database/Fields.ts"
import type { RowOf } from "../database/Fields.ts"
import { each, given, joined, part, statement } from "../database/Statement.ts"
import { numberColumns, toNumber } from "./numberRow.ts"
import type { NumberRow } from "./numberRow.ts"

/** The core's `changedTo`: since when a number has its status, and why. */
export const changedTo = (
  number: string,
  { now, reason, status }: Readonly<Record<"status" | "reason" | "now", string>>,
) => ({
  status_since: `:code.status_since_after(${number}, ${status}, ${reason}, ${now})`,
  status_reason: `:code.status_reason_after(${number}, ${status}, ${reason})`,
})

/** What a process reports. */
const columns = {
  number_id: bigint((report: ConnectionReport) => report.numberId),
  state: text((report: ConnectionReport) => report.state),
  reason: text((report: ConnectionReport) => report.reason),
  since: instant((report: ConnectionReport) => report.since),
  last_seen_at: instant((report: ConnectionReport) => report.lastSeenAt),
  reconnects: integer((report: ConnectionReport) => report.reconnects),
}

const insertReports = statement(
  "number.report",
  joined(given({ now: instant }), part("reports", each(columns, "p_"))),
)`
insert into connection_reports (reported_at, ${listed(columns)})
select $now, ${selected(columns, "r")}
from unnest(${listed(columns, (name) => `$p_${name}`)}) r (${listed(columns)})
join numbers n on n.id = r.number_id
order by r.number_id
on conflict (number_id) do update
set reported_at = excluded.reported_at,
  ${listed(columns, (name) => `${name} = excluded.${name}`)}`

export const reportConnections =
  (database: DatabaseService): (typeof NumberStore.Service)["reportConnections"] =>
  (reports, now) =>
    reports.length === 0 ? Effect.void : insertReports.run(database, { reports, now })

/** What is past a window's end does not hold back; a rest that is over neither. */
const getConnection = statement(
  "number.connection",
  given({ workspaceId: bigint, id: bigint, now: instant, fits: integer, windowMillis: bigint }),
)`
select
  ${numberColumns("n")},
  n.status_since, n.status_reason,
  ${selected(columns, "r", "report_")}, r.reported_at as report_at,
  (
    -- Index messages_waiting.
    select count(*)
    from messages m
    where m.number_id = n.id
      and m.mode = 'live'
      and m.state = 'waiting'
      and not coalesce(l.head_id = m.id and l.lease_until is not null, false)
  ) as waiting,
  sent.count as sent,
  (
    -- Index messages_sent.
    select m.sent_at
    from messages m
    where m.number_id = n.id
      and m.mode = 'live'
      and m.sent_at is not null
    order by m.sent_at desc
    limit 1
  ) as last_sent_at,
  l.pause_reason,
  nullif(l.paused_until, 'infinity') as paused_until,
  l.disabled as is_disabled,
  l.lease_until is not null as is_sending,
  head.due_at as first_due_at,
  l.hold_until,
  case when head.id is not null then :code.lane_limit(l.number_id, l.pacing, head.id, true, $fits, width.length, $now) end as limited_until,
  case when l.no_room > 0 then l.limited_until end as no_room_until
from numbers n
join lanes l on l.number_id = n.id
cross join (values ($windowMillis * interval '1 millisecond')) width (length)
cross join lateral (
  -- Index messages_sent.
  select count(*) as count
  from messages m
  where m.number_id = n.id
    and m.mode = 'live'
    and :code.is_in_window(m.sent_at, $now, width.length)
) sent
left join messages head on head.id = (select first.id from :code.first_to_leave(l, $now) first)
left join connection_reports r on r.number_id = n.id
where n.id = $id
  and n.workspace_id = $workspaceId
  and n.removed_at is null`

type Nullable<Row> = { readonly [Name in keyof Row]: Row[Name] | null }

type ConnectionRow = NumberRow &
  Nullable<RowOf<typeof columns, "report_">> & {
    readonly status_since: Date | null
    readonly status_reason: ConnectionReport["reason"]
    readonly report_at: Date | null
    readonly waiting: bigint
    readonly sent: bigint
    readonly last_sent_at: Date | null
    readonly pause_reason: Pause["reason"] | null
    readonly paused_until: Date | null
    readonly is_disabled: boolean
    readonly is_sending: boolean
    readonly first_due_at: Date | null
    readonly hold_until: Date | null
    readonly limited_until: Date | null
    readonly no_room_until: Date | null
  }

const toReport = (row: ConnectionRow): KeptReport | null =>
  row.report_state === null || row.report_since === null || row.report_at === null
    ? null
    : {
        numberId: toNumber(row).id,
        state: row.report_state,
        reason: row.report_reason,
        since: row.report_since.getTime(),
        lastSeenAt: millis(row.report_last_seen_at),
        reconnects: row.report_reconnects ?? 0,
        reportedAt: row.report_at.getTime(),
      }

const toFacts = (row: ConnectionRow): ConnectionFacts => ({
  number: toNumber(row),
  changed:
    row.status_since === null
      ? null
      : { at: row.status_since.getTime(), reason: row.status_reason },
  report: toReport(row),
  waiting: Number(row.waiting),
  sent: Number(row.sent),
  lastSentAt: millis(row.last_sent_at),
  pause:
    row.pause_reason === null
      ? null
      : { until: millis(row.paused_until), reason: row.pause_reason },
  isDisabled: row.is_disabled,
  isSending: row.is_sending,
  firstDueAt: millis(row.first_due_at),
  restsUntil: millis(row.hold_until),
  limitedUntil: millis(row.limited_until),
  noRoomUntil: millis(row.no_room_until),
})

export const readConnection =
  (database: DatabaseService): (typeof NumberStore.Service)["connection"] =>
  (workspaceId, id, now, { messages, windowMillis }) =>
    getConnection.first(database, { workspaceId, id, now, fits: messages, windowMillis }, toFacts)
