/** How the connections of numbers stand: what processes report of them, and all that tells of one. */
import { sqlFiles } from "../sql.generated.ts"
import type {
  ConnectionFacts,
  ConnectionReport,
  KeptReport,
  NumberStore,
  Pause,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant, integer, millis, text } from "../database/Fields.ts"
import type { RowOf } from "../database/Fields.ts"
import { each, given, joined, part, statement } from "../database/Statement.ts"
import { toNumber } from "./numberRow.ts"
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
)(sqlFiles["statements/number/insert-reports.sql"])

export const reportConnections =
  (database: DatabaseService): (typeof NumberStore.Service)["reportConnections"] =>
  (reports, now) =>
    reports.length === 0 ? Effect.void : insertReports.run(database, { reports, now })

const getConnection = statement(
  "number.connection",
  given({ workspaceId: bigint, id: bigint, now: instant, fits: integer, windowMillis: bigint }),
)(sqlFiles["statements/number/get-connection.sql"])

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
