/**
 * `ServiceFigures` in memory: a walk over the lanes, one over what waits there, and one over what is to be
 * delivered. They are counts of a moment that passes anyway, so each walk goes in steps.
 */
import { isLeased, statusAt } from "@messaging-service/core"
import type { Figures, NumberCount, ServiceFigures } from "@messaging-service/core"
import { Effect } from "effect"
import { earliest, visitInSteps } from "./collections.ts"
import { firstDueAt } from "./Lane.ts"
import type { Steps } from "./collections.ts"
import type { Lane, MessageRow, Tables } from "./tables.ts"

/** The rows of all these collections, one after the other, up to so many. */
function* firstOfAll<Row>(
  collections: Iterable<Iterable<Row>>,
  most: number,
): Generator<Row, void> {
  let left = most
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

/** What the lanes themselves tell. */
const lookAtLanes = (tables: Tables, now: number) =>
  Effect.suspend(() => {
    const numbers = new Map<string, NumberCount>()
    const leases: Array<number> = []
    const firstDueOf: { connected: number | null; notConnected: number | null } = {
      connected: null,
      notConnected: null,
    }
    const visit = (lane: Lane) => {
      countNumber(numbers, lane)
      if (lane.inFlight !== null) leases.push(lane.inFlight.leaseUntil)
      const kind = lane.number.status === "connected" ? "connected" : "notConnected"
      firstDueOf[kind] = earliest([firstDueOf[kind], firstDue(lane, now)])
    }
    return Effect.map(visitInSteps(tables.lanes.rows, visit), () => ({
      firstDueAt: firstDueOf,
      lanesInFlight: leases.length,
      leasesRunOut: leases.filter((until) => !isLeased(until, now)).length,
      numbers: [...numbers.values()],
    }))
  })

export const serviceFigures = (tables: Tables): Steps<typeof ServiceFigures.Service> => ({
  read: (now, countAtMost) =>
    Effect.gen(function* () {
      const lanes = yield* lookAtLanes(tables, now)
      const waiting = yield* countWaiting(tables, now, countAtMost)
      const deliveries = yield* countDeliveries(tables, countAtMost)
      const figures: Figures = {
        ...waiting,
        ...lanes,
        laneDueAt: tables.agenda.first?.at ?? null,
        ...deliveries,
        tables: [
          { name: "messages", rows: tables.messages.size, bytes: 0 },
          { name: "outbox", rows: tables.outbox.length, bytes: 0 },
        ],
      }
      return figures
    }),
})
