/** `WorkStatus` in memory: the heads of the collections that the loops work off. */
import {
  crowdedOf,
  heldBy,
  isAskedBy,
  isCrowded,
  isLeased,
  isOwned,
  kindsOfWork,
} from "@messaging-service/core"
import type {
  AttemptInHands,
  Crowded,
  Owned,
  SharedWork,
  Work,
  WorkspaceId,
  WorkStatus,
} from "@messaging-service/core"
import { Record } from "effect"
import { earliest } from "./collections.ts"
import { standing } from "./Lane.ts"
import { nextLinkingDue, workspaceOfAttempt } from "./linkingStore.ts"
import { claimableAt } from "./numberCheckStore.ts"
import type { Steps } from "./collections.ts"
import type { Tables } from "./tables.ts"

const nextDue: Readonly<
  Record<Work, (tables: Tables, crowded: Crowded, owned: Owned) => number | null>
> = {
  lanes: (tables, crowded, owned) => {
    for (const { at, lane } of tables.agenda) {
      if (!isOwned(lane.number.id, owned)) continue
      if (lane.inFlight !== null || !isCrowded(crowded, lane.number.workspaceId)) return at
    }
    return null
  },
  expiry: (tables) => tables.expiring.first?.message.expiresAt ?? null,
  test_messages: (tables) => tables.dueTest.first?.message.dueAt ?? null,
  // Due before any time that a clock shows, so they are always due.
  stranded: (tables) => (tables.stranded.size > 0 ? 0 : null),
  reminders: (tables) => tables.dueReminders.first?.reminder.nextRunAt ?? null,
  deliveries: (tables, crowded) => {
    for (const { at, lane } of tables.deliveryTurns) {
      if (lane.kind === "webhook" || !isCrowded(crowded, lane.workspaceId)) return at
    }
    return null
  },
  number_checks: (tables, crowded, owned) =>
    earliest(
      Array.from(tables.openChecks, (row) =>
        isAskedBy(row.check, standing(row.lane), owned) &&
        (row.leaseUntil !== null || !isCrowded(crowded, row.check.workspaceId))
          ? claimableAt(row)
          : null,
      ),
    ),
  linking: nextLinkingDue,
}

/** The workspaces of the leases that are held, one for each lease. */
const holders: Readonly<
  Record<SharedWork, (tables: Tables, now: number) => ReadonlyArray<WorkspaceId>>
> = {
  lanes: (tables, now) =>
    Array.from(tables.inFlight, (id) => tables.lanes.get(id)).flatMap((lane) =>
      isLeased(lane?.inFlight?.leaseUntil ?? null, now) ? (lane?.number.workspaceId ?? []) : [],
    ),
  deliveries: (tables, now) =>
    [...tables.callbackLanes.values()].flatMap(({ inFlight, workspaceId }) =>
      [...inFlight.values()].flatMap(({ leaseUntil }) =>
        isLeased(leaseUntil, now) ? workspaceId : [],
      ),
    ),
  number_checks: (tables, now) =>
    Array.from(tables.openChecks).flatMap(({ check, leaseUntil }) =>
      isLeased(leaseUntil, now) ? check.workspaceId : [],
    ),
  linking: (tables, now) =>
    [...tables.linkings.values()].flatMap((row) =>
      isLeased(row.leaseUntil, now) ? (workspaceOfAttempt(tables, row) ?? []) : [],
    ),
}

const isShared = (work: Work): work is SharedWork => work in holders

/** The messages and checks under a lease, in the order of their names. */
const inHands = (tables: Tables, now: number): ReadonlyArray<AttemptInHands> => {
  const messages = [...tables.inFlight].flatMap((numberId) => {
    const lane = tables.lanes.get(numberId)
    if (lane === undefined || !isLeased(lane.inFlight?.leaseUntil ?? null, now)) return []
    return { numberId, attempt: `message ${numberId} ${lane.lease}` }
  })
  const checks = [...tables.openChecks].flatMap(({ check, lease, leaseUntil }) =>
    isLeased(leaseUntil, now)
      ? { numberId: check.numberId, attempt: `check ${check.id} ${lease}` }
      : [],
  )
  return [...messages, ...checks].toSorted((a, b) => (a.attempt < b.attempt ? -1 : 1))
}

const deliveringUntil = (tables: Tables): number | null => {
  const until = [...tables.endpoints.rows, ...tables.callbackLanes.values()].flatMap(
    ({ inFlight }) => Array.from(inFlight.values(), ({ leaseUntil }) => leaseUntil),
  )
  return until.length === 0 ? null : Math.max(...until)
}

export const workStatus = (tables: Tables): Steps<typeof WorkStatus.Service> => ({
  nextDue: (work, passedOver = [], owned = "all") => nextDue[work](tables, passedOver, owned),
  earliest: () => Record.map(nextDue, (due) => due(tables, [], "all")),
  workload: (now, places) => ({
    nextDue: earliest(
      kindsOfWork.map((work) =>
        nextDue[work](
          tables,
          places !== undefined && isShared(work)
            ? crowdedOf(heldBy(holders[work](tables, now)), places[work])
            : [],
          "all",
        ),
      ),
    ),
    inHands: inHands(tables, now),
    deliveringUntil: deliveringUntil(tables),
  }),
})
