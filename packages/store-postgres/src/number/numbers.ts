/** Numbers, each with its lane. */
import { changedPacing, ownsAllNumbers, isSameNumber } from "@messaging-service/core"
import type {
  ConnectionFacts,
  ConnectionReport,
  StoredReport,
  NumberChange,
  NumberId,
  NumberSettings,
  NumberStore,
  Pacing,
  Pause,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { millis, statement, toColumns } from "../database/Sql.ts"
import type { Element, Params, Row } from "../database/Sql.ts"
import { control, pacingOrNull, toControl, toPacing } from "../queue/lanes.ts"
import { newCallback } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { toNumber } from "./numberRow.ts"
import { getRestrictions, restrict, toRestrictions } from "./restrictions.ts"

// Connections of numbers: what processes report of them, and everything about one.

const insertReports = statement("number.report")
const readConnections = statement("number.connections")

/** What a process reports. */
const toReportElement = (report: ConnectionReport): Element<"number.report"> => ({
  numberId: report.numberId,
  state: report.state,
  reason: report.reason,
  since: report.since,
  lastSeenAt: report.lastSeenAt,
  reconnects: report.reconnects,
})

const reportConnections =
  (database: DatabaseService): NumberStore["reportConnections"] =>
  (reports, now) =>
    reports.length === 0
      ? Effect.void
      : insertReports.run(database, { ...toColumns(reports.map(toReportElement)), now })

type ConnectionRow = Row<"number.connections">

const toReport = (row: ConnectionRow): StoredReport | null =>
  row.report_state === null || row.report_since === null || row.report_at === null
    ? null
    : {
        numberId: toNumber(row).id,
        state: row.report_state as StoredReport["state"],
        reason: row.report_reason as StoredReport["reason"],
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
      : {
          at: row.status_since.getTime(),
          reason: row.status_reason as ConnectionReport["reason"],
        },
  report: toReport(row),
  waiting: Number(row.waiting),
  sent: Number(row.sent),
  lastSentAt: millis(row.last_sent_at),
  pause:
    row.pause_reason === null
      ? null
      : {
          until: millis(row.paused_until),
          reason: row.pause_reason as Pause["reason"],
        },
  isDisabled: row.is_disabled,
  isSending: row.is_sending,
  firstDueAt: millis(row.first_due_at),
  pacedUntil: millis(row.hold_until),
  limitedUntil: millis(row.limited_until),
  noRoomUntil: millis(row.no_room_until),
})

const readConnection =
  (database: DatabaseService): NumberStore["connection"] =>
  (workspaceId, id, now, { messages, windowMillis }) =>
    readConnections.first(
      database,
      { workspaceId, id, now, fits: messages, windowMillis, limit: 1 },
      toFacts,
    )

const listConnections =
  (database: DatabaseService): NumberStore["connections"] =>
  (workspaceId, now, { messages, windowMillis }, limit) =>
    readConnections.all(
      database,
      { workspaceId, id: null, now, fits: messages, windowMillis, limit },
      (row) => ({
        facts: toFacts(row),
        quota: { planned: row.planned, roomAt: millis(row.room_at) },
        hours: row.hours,
      }),
    )

const lockCampaigns = statement("number.lockCampaigns")
const lockWorkspace = statement("number.lockWorkspace")
export const insertNumber = statement("number.insert")
const getNumber = statement("number.get")
export const listNumbers = statement("number.list")
const getSettings = statement("number.settings")
const lockPacing = statement("number.lockPacing")
const changeNumber = statement("number.change")
const callbackUrl = statement("number.callback")
const setStatus = statement("set_number_status")
const remove = statement("remove_number")

export const toNewNumber = (
  number: Omit<SendingNumber, "id">,
  pacing: Pacing | null,
): Params<"number.insert"> => ({
  workspaceId: number.workspaceId,
  mode: number.mode,
  phone: number.phone,
  label: number.label,
  platform: number.platform,
  status: number.status,
  loginMethod: number.loginMethod,
  createdAt: number.createdAt,
  pacing: pacingOrNull(pacing),
})

const toSettings = (row: Row<"number.settings">): NumberSettings => ({
  pacing: toPacing(row.pacing),
  proxy:
    row.proxy_host === null || row.proxy_port === null || row.proxy_url === null
      ? null
      : { host: row.proxy_host, port: row.proxy_port, url: row.proxy_url },
})

const toChange = (
  workspaceId: number,
  id: number,
  { label, proxy }: NumberChange,
): Params<"number.change"> => ({
  workspaceId,
  id,
  label: label ?? null,
  keepsProxy: proxy === undefined,
  proxyHost: proxy?.host ?? null,
  proxyPort: proxy?.port ?? null,
  proxyUrl: proxy?.url ?? null,
})

export const numberStore = (
  database: DatabaseService,
  { notify }: DeliveriesQueued,
): NumberStore => ({
  insert: (number, pacing = null) =>
    Effect.flatMap(
      insertNumber.first(database, toNewNumber(number, pacing), toNumber),
      (inserted) =>
        inserted === null
          ? Effect.die(new Error(`no workspace ${number.workspaceId}`))
          : Effect.succeed(inserted),
    ),
  insertNew: (number, pacing, limit) =>
    database.transaction("number.insertNew", (run) =>
      Effect.gen(function* () {
        yield* lockCampaigns.in(run, number)
        yield* lockWorkspace.in(run, number)
        const rows = yield* listNumbers.in(run, number)
        const same = rows.map(toNumber).find((one) => isSameNumber(one, number))
        if (same !== undefined) return { _tag: "Exists", id: same.id }
        const kept = rows.map(() => ({ removed: false }))
        if (ownsAllNumbers(kept, limit)) return { _tag: "Full" }
        const [row] = yield* insertNumber.in(run, toNewNumber(number, pacing))
        return row === undefined
          ? yield* Effect.die(new Error(`no workspace ${number.workspaceId}`))
          : { _tag: "Inserted", number: toNumber(row) }
      }),
    ),
  get: (workspaceId, id) => getNumber.first(database, { workspaceId, id }, toNumber),
  find: (id) => getNumber.first(database, { workspaceId: null, id }, toNumber),
  callbackUrl: (id) => callbackUrl.value(database, { id }),
  list: (workspaceId) => listNumbers.all(database, { workspaceId }, toNumber),
  settings: (ids) =>
    ids.length === 0
      ? Effect.succeed(new Map())
      : Effect.map(
          getSettings.rows(database, { ids }),
          (rows) => new Map(rows.map((row) => [Number(row.id) as NumberId, toSettings(row)])),
        ),
  change: (workspaceId, id, change, now) =>
    database.transaction("number.change", (run) =>
      Effect.gen(function* () {
        const { pacing: named } = change
        // Campaigns and the lane first, as before every change of a status.
        if (named !== undefined) yield* lockCampaigns.in(run, { workspaceId })
        const [lane] = named === undefined ? [] : yield* lockPacing.in(run, { workspaceId, id })
        const [row] = yield* changeNumber.in(run, toChange(workspaceId, id, change))
        if (row === undefined) return null
        if (named !== undefined && lane !== undefined) {
          const pacing = changedPacing(toPacing(lane.pacing), named)
          yield* control.in(run, toControl({ numberId: id, now, pacing }))
        }
        return toNumber(row)
      }),
    ),
  setStatus: (id, status, phone, now, callback = null, reason = null, events) => {
    const eventId = events?.status ?? null
    const change = { number: id, status, phone: phone ?? null, now, reason, eventId }
    return Effect.tap(
      setStatus.first(database, { ...change, ...newCallback(callback) }, toNumber),
      callback === null && events === undefined ? Effect.void : notify,
    )
  },
  connection: readConnection(database),
  connections: listConnections(database),
  reportConnections: reportConnections(database),
  restrict: restrict(database, notify),
  restrictions: (workspaceId, id) =>
    getRestrictions.first(database, { workspaceId, id }, toRestrictions),
  remove: (workspaceId, id, now) => remove.isTrue(database, { workspaceId, id, now }),
})
