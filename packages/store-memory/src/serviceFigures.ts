/** `ServiceFigures` in memory: one walk over the lanes and one over the endpoints. */
import { isLeased, statusAt } from "@messaging-service/core/ports"
import type { Figures, NumberCount, ServiceFigures } from "@messaging-service/core/ports"
import { Effect } from "effect"
import { firstDueAt } from "./Lane.ts"
import type { Lane, World } from "./World.ts"

const countWaiting = (world: World, now: number, countAtMost: number) => {
  let queued = 0
  let scheduled = 0
  for (const { waiting } of world.lanes.rows) {
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

const earliest = (moments: ReadonlyArray<number | null>): number | null =>
  moments.reduce((first, at) => (first === null || (at !== null && at < first) ? at : first), null)

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

const countDeliveries = (world: World, countAtMost: number) => {
  let deliveries = 0
  let retries = 0
  for (const { pending } of world.endpoints.rows) {
    for (const { attempts } of pending) {
      if (deliveries === countAtMost) return { deliveries, retries }
      deliveries++
      if (attempts > 0) retries++
    }
  }
  return { deliveries, retries }
}

const figures = (world: World, now: number, countAtMost: number): Figures => {
  const lanes = world.lanes.rows
  const leases = lanes.flatMap(({ inFlight }) => inFlight?.leaseUntil ?? [])
  const isConnected = ({ number }: Lane) => number.status === "connected"
  return {
    ...countWaiting(world, now, countAtMost),
    firstDueAt: {
      connected: earliest(lanes.filter(isConnected).map((lane) => firstDue(lane, now))),
      notConnected: earliest(
        lanes.filter((lane) => !isConnected(lane)).map((lane) => firstDue(lane, now)),
      ),
    },
    laneDueAt: world.agenda.first?.at ?? null,
    lanesInFlight: leases.length,
    leasesRunOut: leases.filter((until) => !isLeased(until, now)).length,
    numbers: countNumbers(lanes),
    ...countDeliveries(world, countAtMost),
  }
}

export const serviceFigures = (world: World): typeof ServiceFigures.Service => ({
  read: (now, countAtMost) => Effect.sync(() => figures(world, now, countAtMost)),
})
