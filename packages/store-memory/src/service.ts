/**
 * `ServiceFigures` in memory: walks over the lanes, over their waiting messages, and over pending
 * deliveries. The counts are momentary anyway, so each walk goes in steps.
 */
import {
  saturatedTenants,
  countByWorkspace,
  isServedBy,
  isSaturated,
  isLeased,
  isProcessSilent,
  isOwned,
  kindsOfWork,
  statusAt,
} from "@messaging-service/core"
import type {
  AttemptInFlight,
  SaturatedTenants,
  Figures,
  NumberCount,
  Owned,
  ProcessStore,
  ServiceFigures,
  SharedWork,
  Work,
  WorkspaceId,
  DueWork,
} from "@messaging-service/core"
import { Effect, Record } from "effect"
import { nextCampaignDue } from "./campaigns.ts"
import { earliest, visitInSteps } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { firstDueAt, standing } from "./lanes.ts"
import { nextLaneEnd } from "./newChats.ts"
import { nextTestTickDue } from "./messages.ts"
import { claimableAt } from "./numberChecks.ts"
import { nextLinkingDue, workspaceOfAttempt } from "./numbers.ts"
import { nextCopyWaitEnd } from "./receive.ts"
import { nextReadMarkDue } from "./readMarks.ts"
import type { Lane, MessageRow, Tables } from "./tables.ts"

/** The rows of all these collections, one after the other, up to so many. */
function* firstOfAll<Row>(collections: Iterable<Iterable<Row>>, max: number): Generator<Row, void> {
  let left = max
  for (const rows of collections) {
    for (const row of rows) {
      if (left-- <= 0) return
      yield row
    }
  }
}

function* onlyLive(rows: Iterable<MessageRow>): Generator<MessageRow> {
  for (const row of rows) if (row.message.mode === "live") yield row
}

const countWaiting = (tables: Tables, now: number, countAtMost: number) =>
  Effect.suspend(() => {
    const counts = { queued: 0, scheduled: 0 }
    const waiting = tables.lanes.rows.flatMap<Iterable<MessageRow>>(({ held, waiting: rows }) => [
      rows,
      onlyLive(held),
    ])
    return Effect.as(
      visitInSteps(firstOfAll(waiting, countAtMost), ({ message }) => {
        if (statusAt(message, now) === "queued") counts.queued++
        else counts.scheduled++
      }),
      counts,
    )
  })

const countDeliveries = (tables: Tables, countAtMost: number) =>
  Effect.suspend(() => {
    const counts = { deliveries: 0, retries: 0 }
    const pending = tables.endpoints.rows.map((endpoint) => endpoint.pending)
    return Effect.as(
      visitInSteps(firstOfAll(pending, countAtMost), ({ attempts }) => {
        counts.deliveries++
        if (attempts > 0) counts.retries++
      }),
      counts,
    )
  })

const firstDue = (lane: Lane, now: number): number | null =>
  lane.removed ? null : firstDueAt(lane, now)

const countNumber = (counts: Map<string, NumberCount>, { number, removed }: Lane): void => {
  if (removed || number.mode !== "live") return
  const { platform, status } = number
  const key = `${platform} ${status}`
  counts.set(key, { platform, status, count: (counts.get(key)?.count ?? 0) + 1 })
}

/** The lanes' own figures. */
const checkLanes = (tables: Tables, now: number) =>
  Effect.suspend(() => {
    const numbers = new Map<string, NumberCount>()
    const leases: Array<number> = []
    const firstDueByStatus: { connected: number | null; notConnected: number | null } = {
      connected: null,
      notConnected: null,
    }
    const visit = (lane: Lane) => {
      countNumber(numbers, lane)
      if (lane.inFlight !== null) leases.push(lane.inFlight.leaseUntil)
      const kind = lane.number.status === "connected" ? "connected" : "notConnected"
      firstDueByStatus[kind] = earliest([firstDueByStatus[kind], firstDue(lane, now)])
    }
    return Effect.map(visitInSteps(tables.lanes.rows, visit), () => ({
      firstDueAt: firstDueByStatus,
      lanesInFlight: leases.length,
      leasesRunOut: leases.filter((until) => !isLeased(until, now)).length,
      numbers: [...numbers.values()],
    }))
  })

/** What the reports of processes that work tell. */
const checkWorkers = ({ processes }: Tables, now: number) => {
  const reportedTimes = [...processes.values()].flatMap(({ seenAt, works }) =>
    works ? [seenAt] : [],
  )
  return {
    workersAlive: reportedTimes.filter((at) => !isProcessSilent(at, now)).length,
    workerSeenAt: reportedTimes.length === 0 ? null : Math.max(...reportedTimes),
  }
}

export const serviceFigures = (tables: Tables): Steps<ServiceFigures> => ({
  figures: (now, countAtMost) =>
    Effect.gen(function* () {
      const lanes = yield* checkLanes(tables, now)
      const waiting = yield* countWaiting(tables, now, countAtMost)
      const deliveries = yield* countDeliveries(tables, countAtMost)
      const figures: Figures = {
        ...waiting,
        ...lanes,
        laneDueAt: tables.agenda.first?.at ?? null,
        ...checkWorkers(tables, now),
        ...deliveries,
        tables: [
          { name: "messages", rows: tables.messages.size, bytes: 0 },
          { name: "outbox", rows: tables.outbox.length, bytes: 0 },
        ],
      }
      return figures
    }),
})

export const processStore = (tables: Tables): Steps<ProcessStore> => ({
  reportProcess: (report) => void tables.processes.set(report.name, report),

  processes: (max) =>
    [...tables.processes.values()]
      .toSorted((a, b) => b.seenAt - a.seenAt)
      .slice(0, max)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),

  endProcess: (name) => void tables.processes.delete(name),

  forgetProcesses: (before) => {
    for (const [name, { seenAt }] of tables.processes) {
      if (seenAt < before) tables.processes.delete(name)
    }
  },
})

// `DueWork` in memory: the heads of the loops' collections.

const nextDue: Readonly<
  Record<Work, (tables: Tables, saturated: SaturatedTenants, owned: Owned) => number | null>
> = {
  lanes: (tables, saturated, owned) => {
    for (const { at, lane } of tables.agenda) {
      if (!isOwned(lane.number.id, owned)) continue
      if (lane.inFlight !== null || !isSaturated(saturated, lane.number.workspaceId)) return at
    }
    return null
  },
  expiry: (tables) => tables.expiring.first?.message.expiresAt ?? null,
  test_messages: (tables) =>
    earliest([tables.dueTest.first?.message.dueAt ?? null, nextTestTickDue(tables)]),
  // Earlier than any time that a clock shows, so always due.
  orphaned: (tables) => (tables.orphaned.size > 0 ? 0 : null),
  reminders: (tables) => tables.dueReminders.first?.reminder.nextRunAt ?? null,
  campaigns: nextCampaignDue,
  pauses: nextLaneEnd,
  copies: nextCopyWaitEnd,
  read_marks: (tables, _, owned) => nextReadMarkDue(tables, owned),
  deliveries: (tables, saturated) => {
    for (const { at, lane } of tables.deliveryQueue) {
      if (lane.kind === "webhook" || !isSaturated(saturated, lane.workspaceId)) return at
    }
    return null
  },
  number_checks: (tables, saturated, owned) =>
    earliest(
      Array.from(tables.openChecks, (row) =>
        isServedBy(row.check, standing(row.lane), owned) &&
        (row.leaseUntil !== null || !isSaturated(saturated, row.check.workspaceId))
          ? claimableAt(row)
          : null,
      ),
    ),
  linking: nextLinkingDue,
  files: (tables, saturated, owned) =>
    earliest(
      Array.from(tables.receivedFiles.values(), ({ leaseUntil, row: { lane }, ...file }) =>
        isOwned(lane.number.id, owned) &&
        (leaseUntil !== null || !isSaturated(saturated, lane.number.workspaceId))
          ? file.nextDue
          : null,
      ),
    ),
}

/** The workspaces of the current leases, one for each lease. */
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
  files: (tables, now) =>
    [...tables.receivedFiles.values()].flatMap(({ leaseUntil, row }) =>
      isLeased(leaseUntil, now) ? row.lane.number.workspaceId : [],
    ),
}

const isShared = (work: Work): work is SharedWork => work in holders

/** The messages, checks and files under a lease, in the order of their names. */
const attemptsInFlight = (tables: Tables, now: number): ReadonlyArray<AttemptInFlight> => {
  const messages = [...tables.inFlight].flatMap((numberId) => {
    const lane = tables.lanes.get(numberId)
    const { leaseUntil = null, row = null } = lane?.inFlight ?? {}
    if (lane === undefined || row === null || !isLeased(leaseUntil, now)) return []
    return { numberId, attempt: `message ${numberId} ${lane.lease} ${row.message.id}` }
  })
  const checks = [...tables.openChecks].flatMap(({ check, lease, leaseUntil }) =>
    isLeased(leaseUntil, now)
      ? { numberId: check.numberId, attempt: `check ${check.id} ${lease}` }
      : [],
  )
  const files = [...tables.receivedFiles.values()].flatMap(({ lease, leaseUntil, row }) =>
    isLeased(leaseUntil, now)
      ? { numberId: row.lane.number.id, attempt: `file ${row.message.id} ${lease}` }
      : [],
  )
  return [...messages, ...checks, ...files].toSorted((a, b) => (a.attempt < b.attempt ? -1 : 1))
}

const deliveringUntil = (tables: Tables): number | null => {
  const until = [...tables.endpoints.rows, ...tables.callbackLanes.values()].flatMap(
    ({ inFlight }) => Array.from(inFlight.values(), ({ leaseUntil }) => leaseUntil),
  )
  return until.length === 0 ? null : Math.max(...until)
}

export const dueWork = (tables: Tables): Steps<DueWork> => ({
  nextDue: (work, passedOver = [], owned = "all") => nextDue[work](tables, passedOver, owned),
  earliestDue: () => Record.map(nextDue, (due) => due(tables, [], "all")),
  workload: (now, capacity) => ({
    nextDue: earliest(
      kindsOfWork.map((work) =>
        nextDue[work](
          tables,
          capacity !== undefined && isShared(work)
            ? saturatedTenants(countByWorkspace(holders[work](tables, now)), capacity[work])
            : [],
          "all",
        ),
      ),
    ),
    inFlight: attemptsInFlight(tables, now),
    deliveringUntil: deliveringUntil(tables),
  }),
})
