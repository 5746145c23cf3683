/** What platforms let numbers do with new chats, in memory. */
import {
  newChatsUntil,
  isRestrictionReported,
  restrictionReport,
  restrictionsEvent,
} from "@messaging-service/core"
import type { NumberStore } from "@messaging-service/core"
import type { Steps } from "./collections.ts"
import { turnNewChats } from "./newChats.ts"
import { announce } from "./serviceStores.ts"
import { findLane, laneIn } from "./tables.ts"
import type { Tables } from "./tables.ts"
import { fanOut } from "./webhooks.ts"

export const restrictionSteps = (
  tables: Tables,
): Pick<Steps<NumberStore>, "restrict" | "restrictions"> => ({
  restrict: (id, restrictions, now, eventId, extraMillis) => {
    const lane = findLane(tables, id)
    if (lane === undefined || lane.workspace.conversations === null) return false
    const isReported = lane.restrictions?.isReported ?? false
    const type = restrictionReport(isReported, restrictions.state)
    const waitsUntil = lane.restrictions?.waitsUntil ?? null
    lane.restrictions = {
      restrictions,
      waitsUntil: newChatsUntil(waitsUntil, restrictions, extraMillis, now),
      isReported: isRestrictionReported(isReported, restrictions.state),
    }
    turnNewChats(tables, lane, now)
    if (type === undefined) return true
    const event = restrictionsEvent({ id: eventId, type }, lane.number, restrictions, now)
    announce(tables, event)
    fanOut(tables, lane.workspace, event)
    return true
  },

  restrictions: (workspaceId, id) =>
    laneIn(tables, workspaceId, id)?.restrictions?.restrictions ?? null,
})
