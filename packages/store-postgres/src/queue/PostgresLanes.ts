/** The lanes, and what is left to do. */
import { sqlFiles } from "../sql.generated.ts"
import type {
  EarliestDue,
  LaneQueue,
  SharedWork,
  Work,
  Workload,
  DueWork,
} from "@messaging-service/core"
import { Effect, Record } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, instant, integers, millis } from "../database/Fields.ts"
import { given, joined, single, statement } from "../database/Statement.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { claim, renew } from "./claimLanes.ts"
import { pauseLane, resumeLane } from "./controlLane.ts"
import { ownedColumns } from "./lane.ts"
import { settle } from "./settleAttempts.ts"

export const laneQueue = (
  database: DatabaseService,
  queued: DeliveriesQueued,
): typeof LaneQueue.Service => ({
  claim: claim(database),
  renew: renew(database),
  settle: settle(database, queued),
  pause: pauseLane(database),
  resume: resumeLane(database),
})

/** In the order in which a workload is told how many places there are of each. */
const shared = [
  "lanes",
  "number_checks",
  "linking",
  "deliveries",
] as const satisfies ReadonlyArray<SharedWork>

/** So many places are never taken. */
const endless = 2_147_483_647

const ownedNumbers = "$p_of::bigint, $p_shards::bigint[]"

/** The look-up of each kind of work. */
const lookUps: Readonly<Record<Work, string>> = {
  lanes: `next_lanes($saturated, ${ownedNumbers})`,
  expiry: "next_expiry()",
  test_messages: "next_test_messages()",
  orphaned: "next_orphaned()",
  linking: `next_linking($saturated, ${ownedNumbers})`,
  reminders: "next_reminders()",
  deliveries: "next_deliveries($saturated)",
  number_checks: `next_number_checks($saturated, ${ownedNumbers})`,
}

const nextDue = Record.map(lookUps, (lookUp, work) =>
  statement(
    `nextDue.${work}`,
    joined(given({ saturated: bigints }), single(ownedColumns)),
  )(`select n.due from :code.${lookUp} n`),
)

const earliest = statement("earliest", given({}))(sqlFiles["statements/queue/earliest.sql"])

const workload = statement(
  "workload",
  given({ now: instant, most: integers, whole: integers }),
)(sqlFiles["statements/queue/workload.sql"])

export const workStatus = (database: DatabaseService): typeof DueWork.Service => ({
  nextDue: (work, saturated = [], owned = "all") =>
    Effect.map(
      nextDue[work].value<Date>(database, {
        saturated: saturated === "all" ? null : saturated,
        owned,
      }),
      millis,
    ),
  earliest: () => earliest.one<EarliestDue>(database, {}),
  workload: (now, places) =>
    workload.one<Workload>(database, {
      now,
      most: shared.map((work) => places?.[work].share.most ?? endless),
      whole: shared.map((work) => places?.[work].whole ?? endless),
    }),
})
