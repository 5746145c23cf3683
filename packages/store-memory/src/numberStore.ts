/** `NumberStore` in memory. */
import { changedPacing, isInWindow, isSameNumber, phoneWithStatus } from "@messaging-service/core"
import type { NumberStore } from "@messaging-service/core"
import { Effect } from "effect"
import { report } from "./deliveryQueue.ts"
import {
  closeLane,
  firstToLeave,
  isDisabled,
  limitsOf,
  openLane,
  setStatus,
  turnWithNumber,
} from "./Lane.ts"
import { controlLane } from "./laneQueue.ts"
import { attemptOf } from "./linkingStore.ts"
import { laneIn, laneOf } from "./tables.ts"
import { turningPoint } from "./collections.ts"
import type { Steps } from "./collections.ts"
import type { Tables } from "./tables.ts"

/** How many of ascending times are in the window that ends at `now`; those before it are not walked over. */
const countInWindow = (times: ReadonlyArray<number>, now: number, windowMillis: number): number => {
  const start = turningPoint(times, (time) => !isInWindow(time, Math.max(time, now), windowMillis))
  return times.slice(start).filter((time) => isInWindow(time, now, windowMillis)).length
}

export const numberStore = (tables: Tables): Steps<typeof NumberStore.Service> => ({
  insert: (number, pacing = null) => {
    const owner = tables.workspaces.get(number.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a number needs a workspace"))
    const lane = openLane(tables, owner, number, pacing)
    owner.lanes.push(lane)
    return lane.number
  },

  insertNew: (number, pacing) => {
    const owner = tables.workspaces.get(number.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a number needs a workspace"))
    const same = owner.lanes.find((lane) => !lane.removed && isSameNumber(lane.number, number))
    if (same !== undefined) return { _tag: "Exists", id: same.number.id }
    const lane = openLane(tables, owner, number, pacing)
    owner.lanes.push(lane)
    return { _tag: "Inserted", number: lane.number }
  },

  get: (workspaceId, id) => laneIn(tables, workspaceId, id)?.number ?? null,

  find: (id) => laneOf(tables, id)?.number ?? null,

  callbackUrl: (id) => laneOf(tables, id)?.callbackUrl ?? null,

  list: (workspaceId) =>
    (tables.workspaces.get(workspaceId)?.lanes ?? [])
      .filter((lane) => !lane.removed)
      .map((lane) => lane.number),

  settings: (ids) =>
    new Map(
      ids.flatMap((id) => {
        const lane = laneOf(tables, id)
        if (lane === undefined) return []
        return [[id, { pacing: lane.control.pacing, proxy: lane.proxy }] as const]
      }),
    ),

  change: (workspaceId, id, { label, pacing, proxy }, now) => {
    const lane = laneIn(tables, workspaceId, id)
    if (lane === undefined) return null
    if (label !== undefined) lane.number = { ...lane.number, label }
    if (proxy !== undefined) lane.proxy = proxy
    if (pacing !== undefined) {
      controlLane(tables, id, now, (control) => ({
        pacing: changedPacing(control.pacing, pacing),
      }))
    }
    return lane.number
  },

  setStatus: (id, status, phone, now, callback = null, reason = null) => {
    const lane = laneOf(tables, id)
    if (lane === undefined) return null
    const given = phoneWithStatus(lane.number, attemptOf(tables, lane), status, phone ?? null)
    if (status !== "connecting") tables.linkings.delete(id)
    if (lane.number.status !== status) report(tables, lane, callback)
    setStatus(lane, { status, phone: given }, now, reason)
    turnWithNumber(tables, lane, now)
    return lane.number
  },

  connection: (workspaceId, id, now, sendCap) => {
    const lane = laneIn(tables, workspaceId, id)
    if (lane === undefined) return null
    const first = firstToLeave(lane, now)
    const { changed, control, inFlight, number, report: reported, restsUntil, sentTimes } = lane
    return {
      number,
      changed,
      report: reported,
      waiting:
        lane.waiting.size -
        (inFlight === null ? 0 : 1) +
        [...lane.held].filter(({ message }) => message.mode === "live").length,
      sent: countInWindow(sentTimes, now, sendCap.windowMillis),
      lastSentAt: sentTimes.at(-1) ?? null,
      pause: control.pauses.first,
      isDisabled: isDisabled(lane),
      isSending: inFlight !== null,
      firstDueAt: first?.message.dueAt ?? null,
      restsUntil,
      limitedUntil: first === null ? null : limitsOf(lane, first, now, sendCap),
      noRoomUntil: lane.noRoomInARow > 0 ? lane.limitedUntil : null,
    }
  },

  reportConnections: (reports, now) => {
    for (const one of reports) {
      const lane = laneOf(tables, one.numberId)
      if (lane !== undefined) lane.report = { ...one, reportedAt: now }
    }
  },

  remove: (workspaceId, id, now) => {
    const lane = laneIn(tables, workspaceId, id)
    if (lane === undefined) return false
    closeLane(tables, lane, now)
    return true
  },
})
