/** Numbers, each with its lane. */
import { changedPacing, isSameNumber } from "@messaging-service/core"
import type {
  ConnectionFacts,
  ConnectionReport,
  KeptReport,
  NumberChange,
  NumberId,
  NumberSettings,
  NumberStore,
  Pacing,
  Pause,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  boolean,
  instant,
  integer,
  millis,
  text,
  without,
} from "../database/Fields.ts"
import type { RowOf } from "../database/Fields.ts"
import {
  call,
  each,
  given,
  joined,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { pacingColumn, toPacing } from "../queue/lane.ts"
import { control } from "../queue/lanes.ts"
import { sqlFiles } from "../sql.generated.ts"
import { callbackParameters } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { numberColumns, numberTable, toNumber } from "./numberRow.ts"
import type { NumberRow } from "./numberRow.ts"

// How the connections of numbers stand: what processes report of them, and all that tells of one.

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

const reportConnections =
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

const readConnection =
  (database: DatabaseService): (typeof NumberStore.Service)["connection"] =>
  (workspaceId, id, now, { messages, windowMillis }) =>
    getConnection.first(database, { workspaceId, id, now, fits: messages, windowMillis }, toFacts)

const made = single(without(numberTable, "id"))

const making = joined(
  part("number", made),
  single({
    pacing: pacingColumn(({ pacing }: { readonly pacing: Pacing | null }) => pacing),
  }),
)

/** Numbers that are made unless they are there come one after the other in their workspace. */
const lockWorkspace = statement("number.insertNew", given({ workspaceId: bigint }))`
select
from workspaces w
where w.id = $workspaceId
for no key update`

export const insertNumber = statement(
  "number.insert",
  making,
)(sqlFiles["statements/number/insert-number.sql"])

/** Of that workspace, or of any. */
const getNumber = statement("number.get", given({ workspaceId: bigint, id: bigint }))`
select ${numberColumns("n")}
from numbers n
where n.id = $id
  and n.workspace_id = coalesce($workspaceId, n.workspace_id)
  and n.removed_at is null`

// Index numbers_by_workspace.
export const listNumbers = statement("number.list", given({ workspaceId: bigint }))`
select ${numberColumns("n")}
from numbers n
where n.workspace_id = $workspaceId
  and n.removed_at is null
order by n.id`

const getSettings = statement("number.settings", given({ ids: bigints }))`
select n.id, l.pacing, n.proxy_host, n.proxy_port, n.proxy_url
from numbers n
join lanes l on l.number_id = n.id
where n.id = any ($ids)
  and n.removed_at is null`

interface SettingsRow {
  readonly id: bigint
  readonly pacing: ReadonlyArray<number | null> | null
  readonly proxy_host: string | null
  readonly proxy_port: number | null
  readonly proxy_url: string | null
}

const toSettings = (row: SettingsRow): NumberSettings => ({
  pacing: toPacing(row.pacing),
  proxy:
    row.proxy_host === null || row.proxy_port === null || row.proxy_url === null
      ? null
      : { host: row.proxy_host, port: row.proxy_port, url: row.proxy_url },
})

/** The lane is locked: of two changes the second goes on from what the first has written. */
const lockPacing = statement("number.change", given({ workspaceId: bigint, id: bigint }))`
select l.pacing
from lanes l
where l.number_id = $id
  and l.workspace_id = $workspaceId
for no key update`

interface Changing {
  readonly workspaceId: number
  readonly id: number
  readonly change: NumberChange
}

const changeNumber = statement(
  "number.change",
  single({
    workspace_id: bigint((changing: Changing) => changing.workspaceId),
    id: bigint((changing: Changing) => changing.id),
    label: text(({ change }: Changing) => change.label ?? null),
    keeps_proxy: boolean(({ change }: Changing) => change.proxy === undefined),
    proxy_host: text(({ change }: Changing) => change.proxy?.host ?? null),
    proxy_port: integer(({ change }: Changing) => change.proxy?.port ?? null),
    proxy_url: text(({ change }: Changing) => change.proxy?.url ?? null),
  }),
)(sqlFiles["statements/number/change-number.sql"])

const callbackUrl = statement("number.callback", given({ id: bigint }))`
select n.callback_url
from numbers n
where n.id = $id
  and n.removed_at is null`

const setNumberStatus = sqlFunction(
  "set_number_status",
  joined(
    taking({ number: bigint, status: text, phone: text, now: instant, reason: text }),
    callbackParameters,
  ),
)

const setStatus = call("number.setStatus", setNumberStatus)

const removeNumber = sqlFunction(
  "remove_number",
  taking({ workspaceId: bigint, id: bigint, now: instant }),
)

const remove = call("number.remove", removeNumber)

export const numberStore = (
  database: DatabaseService,
  { tell }: DeliveriesQueued,
): typeof NumberStore.Service => ({
  insert: (number, pacing = null) =>
    Effect.flatMap(insertNumber.first(database, { number, pacing }, toNumber), (inserted) =>
      inserted === null
        ? Effect.die(new Error(`no workspace ${number.workspaceId}`))
        : Effect.succeed(inserted),
    ),
  insertNew: (number, pacing) =>
    database.transaction("number.insertNew", (run) =>
      Effect.gen(function* () {
        yield* lockWorkspace.within(run, number)
        const rows = yield* listNumbers.within<NumberRow>(run, number)
        const same = rows.map(toNumber).find((one) => isSameNumber(one, number))
        if (same !== undefined) return { _tag: "Exists", id: same.id }
        const [row] = yield* insertNumber.within<NumberRow>(run, { number, pacing })
        return row === undefined
          ? yield* Effect.die(new Error(`no workspace ${number.workspaceId}`))
          : { _tag: "Inserted", number: toNumber(row) }
      }),
    ),
  get: (workspaceId, id) => getNumber.first(database, { workspaceId, id }, toNumber),
  find: (id) => getNumber.first(database, { workspaceId: null, id }, toNumber),
  callbackUrl: (id) => callbackUrl.value<string>(database, { id }),
  list: (workspaceId) => listNumbers.all(database, { workspaceId }, toNumber),
  settings: (ids) =>
    ids.length === 0
      ? Effect.succeed(new Map())
      : Effect.map(
          getSettings.rows<SettingsRow>(database, { ids }),
          (rows) => new Map(rows.map((row) => [Number(row.id) as NumberId, toSettings(row)])),
        ),
  change: (workspaceId, id, change, now) =>
    database.transaction("number.change", (run) =>
      Effect.gen(function* () {
        const { pacing: named } = change
        // The lane first, as before every change of a status.
        const [lane] =
          named === undefined
            ? []
            : yield* lockPacing.within<Pick<SettingsRow, "pacing">>(run, { workspaceId, id })
        const [row] = yield* changeNumber.within<NumberRow>(run, { workspaceId, id, change })
        if (row === undefined) return null
        if (named !== undefined && lane !== undefined) {
          const pacing = changedPacing(toPacing(lane.pacing), named)
          yield* control.within(run, { numberId: id, now, pacing })
        }
        return toNumber(row)
      }),
    ),
  setStatus: (id, status, phone, now, callback = null, reason = null) =>
    Effect.tap(
      setStatus.first(
        database,
        { number: id, status, phone: phone ?? null, now, reason, callback },
        toNumber,
      ),
      callback === null ? Effect.void : tell,
    ),
  connection: readConnection(database),
  reportConnections: reportConnections(database),
  remove: (workspaceId, id, now) => remove.holds(database, { workspaceId, id, now }),
})
