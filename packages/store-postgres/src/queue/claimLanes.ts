/**
 * Claiming lanes: free ones that are due, the longest waiting first, one message each, and of no
 * workspace more than its share of the worker.
 *
 * Locks: the first statement takes the rows of the lanes and passes over those that others hold, so
 * dispatchers never wait for one another. Only a later statement reads messages: it sees all that
 * was committed before the lane was locked, and nothing can change while it is.
 */
import { sqlFiles } from "../sql.generated.ts"
import type { ClaimedMessage, ClaimQuery, LaneQueue, NumberId } from "@messaging-service/core"
import { Effect } from "effect"
import { lockMillis, togetherOrAlone } from "../database/Coalesced.ts"
import { rowsOver } from "../database/Database.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, bigints, columnsOf, instant, integer, without, text } from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import { call, given, single, sqlFunction, statement } from "../database/Statement.ts"
import { messageNames, toMessage } from "../message/messageRow.ts"
import type { MessageRow } from "../message/messageRow.ts"
import { numberTable, toNumber } from "../number/numberRow.ts"
import { ownedFields, toPacing } from "./lane.ts"
import { sharesFields } from "./shares.ts"

const parameters = single(
  columnsOf({
    now: { p_now: instant((query) => query.now) },
    leaseUntil: { p_lease_until: instant((query) => query.leaseUntil) },
    limit: { p_limit: integer((query) => query.limit) },
    sendCap: {
      p_cap: integer(({ sendCap }) => sendCap.messages),
      p_window_millis: bigint(({ sendCap }) => sendCap.windowMillis),
    },
    ...ownedFields,
    ...sharesFields,
  } satisfies FieldsOf<ClaimQuery>),
)

/** A number's columns beside those of its message, which names it, its workspace and its platform. */
const numberBeside = without(numberTable, "id", "workspace_id", "mode", "platform")

type ClaimedRow = MessageRow &
  RowOf<typeof numberBeside, "n_"> & {
    readonly lease: bigint
    readonly interruptions: number
    readonly removed: boolean
    readonly pacing: ReadonlyArray<number | null> | null
    readonly refusals: number
    readonly pauses: number
    readonly no_room: number
  }

const toClaimed = (row: ClaimedRow): ClaimedMessage => ({
  message: toMessage(row),
  number: toNumber({
    id: row.number_id,
    workspace_id: row.workspace_id,
    // What leaves is live, and so is the number that it leaves from.
    mode: "live",
    platform: row.platform,
    phone: row.n_phone,
    label: row.n_label,
    status: row.n_status,
    login_method: row.n_login_method,
    created_at: row.n_created_at,
  }),
  removed: row.removed,
  lease: Number(row.lease),
  interruptions: row.interruptions,
  pacing: toPacing(row.pacing),
  noRoomInARow: row.no_room,
  strikes: { refusals: row.refusals, pauses: row.pauses },
})

const Claimed = rowsOver([
  "lease",
  "interruptions",
  "removed",
  "pacing",
  "refusals",
  "pauses",
  "no_room",
  ...Object.keys(numberBeside).map((name) => `n_${name}`),
  ...messageNames,
])

const claimStatement = call("claim", sqlFunction("claim_lanes", parameters), Claimed)

export const claim = (database: DatabaseService) => (query: ClaimQuery) =>
  claimStatement.all(database, query, toClaimed)

const renewLeases = statement(
  "renew",
  given({ numbers: bigints, leases: bigints, leaseUntil: instant, patience: text }),
)(sqlFiles["statements/queue/renew-leases.sql"])

type Lease = Parameters<(typeof LaneQueue.Service)["renew"]>[0][number]

const prolonged = (database: DatabaseService, leases: ReadonlyArray<Lease>, leaseUntil: number) =>
  renewLeases.rows<{ readonly number_id: bigint }>(database, {
    numbers: leases.map((one) => one.numberId),
    leases: leases.map((one) => one.lease),
    leaseUntil,
    patience: `${lockMillis}ms`,
  })

/** A lane that is held up is left for the next time; it cannot be claimed meanwhile. */
export const renew =
  (database: DatabaseService): (typeof LaneQueue.Service)["renew"] =>
  (leases, leaseUntil) =>
    leases.length === 0
      ? Effect.succeed(new Set<NumberId>())
      : Effect.map(
          togetherOrAlone(leases, (some) => prolonged(database, some, leaseUntil)),
          ({ done }) => new Set(done.flat().map((row) => Number(row.number_id) as NumberId)),
        )
