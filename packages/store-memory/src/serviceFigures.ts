/** `ServiceFigures` in memory: one walk over the lanes and one over the endpoints. */
import { isLeased, statusAt } from "@messaging-service/core/ports"
import type { Figures, NumberCount, ServiceFigures } from "@messaging-service/core/ports"
import { earliest } from "./collections.ts"
import { firstDueAt } from "./Lane.ts"
import type { Steps } from "./collections.ts"
import type { Lane, Tables } from "./tables.ts"

const countWaiting = (tables: Tables, now: number, countAtMost: number) => {
  let queued = 0
  let scheduled = 0
  for (const { waiting } of tables.lanes.rows) {
    for (const { message } of waiting) {
      if (queued + scheduled === countAtMost) return { queued, scheduled }
      if (statusAt(message, now) === "queued") queued++
      else scheduled++
    }
  }
  return { queued, scheduled }
}

const firstDue = (lane: Lane, now: number): number | null =>
  lane.removed ? null : firstDueAt(lane, now)

const countNumbers = (lanes: ReadonlyArray<Lane>): ReadonlyArray<NumberCount> => {
  const counts = new Map<string, NumberCount>()
  for (const { number, removed } of lanes) {
    if (removed || number.mode !== "live") continue
    const { platform, status } = number
    const key = `${platform} ${status}`
    counts.set(key, { platform, status, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}

const countDeliveries = (tables: Tables, countAtMost: number) => {
  let deliveries = 0
  let retries = 0
  for (const { pending } of tables.endpoints.rows) {
    for (const { attempts } of pending) {
      if (deliveries === countAtMost) return { deliveries, retries }
      deliveries++
      if (attempts > 0) retries++
    }
  }
  return { deliveries, retries }
}

const figures = (tables: Tables, now: number, countAtMost: number): Figures => {
  const lanes = tables.lanes.rows
  const leases = lanes.flatMap(({ inFlight }) => inFlight?.leaseUntil ?? [])
  const isConnected = ({ number }: Lane) => number.status === "connected"
  return {
    ...countWaiting(tables, now, countAtMost),
    firstDueAt: {
      connected: earliest(lanes.filter(isConnected).map((lane) => firstDue(lane, now))),
      notConnected: earliest(
        lanes.filter((lane) => !isConnected(lane)).map((lane) => firstDue(lane, now)),
      ),
    },
    laneDueAt: tables.agenda.first?.at ?? null,
    lanesInFlight: leases.length,
    leasesRunOut: leases.filter((until) => !isLeased(until, now)).length,
    numbers: countNumbers(lanes),
    ...countDeliveries(tables, countAtMost),
  }
}

export const serviceFigures = (tables: Tables): Steps<typeof ServiceFigures.Service> => ({
  read: (now, countAtMost) => figures(tables, now, countAtMost),
})
