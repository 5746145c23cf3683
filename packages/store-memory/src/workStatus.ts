/** `WorkStatus` in memory: the heads of the collections that the loops work off. */
import { crowdedOf, heldBy, isCrowded, isLeased, kindsOfWork } from "@messaging-service/core/ports"
import type {
  AttemptInHands,
  Crowded,
  SharedWork,
  Work,
  WorkspaceId,
  WorkStatus,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import { nextLinkingDue, workspaceOfAttempt } from "./linkingStore.ts"
import { claimableAt } from "./numberCheckStore.ts"
import type { World } from "./World.ts"

const nextDue: Readonly<Record<Work, (world: World, crowded: Crowded) => number | null>> = {
  lanes: (world, crowded) => {
    for (const { at, lane } of world.agenda) {
      if (lane.inFlight !== null || !isCrowded(crowded, lane.number.workspaceId)) return at
    }
    return null
  },
  expiry: (world) => world.expiring.first?.message.expiresAt ?? null,
  test_messages: (world) => world.dueTest.first?.message.dueAt ?? null,
  // Due before any time that a clock shows, so they are always due.
  stranded: (world) => (world.stranded.size > 0 ? 0 : null),
  reminders: (world) => world.dueReminders.first?.reminder.nextRunAt ?? null,
  deliveries: (world, crowded) => {
    for (const { at, lane } of world.deliveryTurns) {
      if (lane.kind === "webhook" || !isCrowded(crowded, lane.workspaceId)) return at
    }
    return null
  },
  number_checks: (world, crowded) => {
    const moments = [...world.openChecks]
      .filter((row) => row.leaseUntil !== null || !isCrowded(crowded, row.check.workspaceId))
      .flatMap((row) => claimableAt(row) ?? [])
    return moments.length === 0 ? null : Math.min(...moments)
  },
  linking: nextLinkingDue,
}

/** The workspaces of the leases that are held, one for each lease. */
const holders: Readonly<
  Record<SharedWork, (world: World, now: number) => ReadonlyArray<WorkspaceId>>
> = {
  lanes: (world, now) =>
    Array.from(world.inFlight, (id) => world.lanes.get(id)).flatMap((lane) =>
      isLeased(lane?.inFlight?.leaseUntil ?? null, now) ? (lane?.number.workspaceId ?? []) : [],
    ),
  deliveries: (world, now) =>
    [...world.callbackLanes.values()].flatMap(({ inFlight, workspaceId }) =>
      [...inFlight.values()].flatMap(({ leaseUntil }) => (leaseUntil > now ? workspaceId : [])),
    ),
  number_checks: (world, now) =>
    Array.from(world.openChecks).flatMap(({ check, leaseUntil }) =>
      isLeased(leaseUntil, now) ? check.workspaceId : [],
    ),
  linking: (world, now) =>
    [...world.linkings.values()].flatMap((row) =>
      isLeased(row.leaseUntil, now) ? (workspaceOfAttempt(world, row) ?? []) : [],
    ),
}

const isShared = (work: Work): work is SharedWork => work in holders

/** The messages and checks under a lease, in the order of their names. */
const inHands = (world: World, now: number): ReadonlyArray<AttemptInHands> => {
  const messages = [...world.inFlight].flatMap((numberId) => {
    const lane = world.lanes.get(numberId)
    if (lane === undefined || !isLeased(lane.inFlight?.leaseUntil ?? null, now)) return []
    return { numberId, attempt: `message ${numberId} ${lane.lease}` }
  })
  const checks = [...world.openChecks].flatMap(({ check, lease, leaseUntil }) =>
    isLeased(leaseUntil, now)
      ? { numberId: check.numberId, attempt: `check ${check.id} ${lease}` }
      : [],
  )
  return [...messages, ...checks].toSorted((a, b) => (a.attempt < b.attempt ? -1 : 1))
}

/** The greater or the lesser of those that are moments; null when none is. */
const extreme = (
  choose: (...moments: ReadonlyArray<number>) => number,
  moments: ReadonlyArray<number | null>,
): number | null => {
  const known = moments.filter((moment) => moment !== null)
  return known.length === 0 ? null : choose(...known)
}

const deliveringUntil = (world: World): number | null =>
  extreme(
    Math.max,
    [...world.endpoints.rows, ...world.callbackLanes.values()].flatMap(({ inFlight }) =>
      Array.from(inFlight.values(), ({ leaseUntil }) => leaseUntil),
    ),
  )

export const workStatus = (world: World): typeof WorkStatus.Service => ({
  nextDue: (work, passedOver = []) => Effect.sync(() => nextDue[work](world, passedOver)),
  workload: (now, places) =>
    Effect.sync(() => ({
      nextDue: extreme(
        Math.min,
        kindsOfWork.map((work) =>
          nextDue[work](
            world,
            places !== undefined && isShared(work)
              ? crowdedOf(heldBy(holders[work](world, now)), places[work])
              : [],
          ),
        ),
      ),
      inHands: inHands(world, now),
      deliveringUntil: deliveringUntil(world),
    })),
})
