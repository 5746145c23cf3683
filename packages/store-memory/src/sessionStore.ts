/** `SessionStore` in memory. */
import { reasonOnceResumed } from "@messaging-service/core"
import type { Fence, KeyChange, SessionStore } from "@messaging-service/core"
import { Effect } from "effect"
import { setStatus } from "./Lane.ts"
import { endOwnPauses } from "./laneQueue.ts"
import { isAnothers } from "./linkingStore.ts"
import { laneOf } from "./tables.ts"
import type { Steps } from "./collections.ts"
import type { SessionRow, Tables } from "./tables.ts"

export const sessionStore = (tables: Tables): Steps<typeof SessionStore.Service> => {
  const { sessions } = tables

  const writeKeys = ({ keys }: SessionRow, changes: ReadonlyArray<KeyChange>) => {
    for (const { id, type, value } of changes) {
      const ofType = keys.get(type) ?? new Map<string, string>()
      keys.set(type, ofType)
      ofType.delete(id)
      if (value !== null) ofType.set(id, value)
    }
  }

  /** Writes, unless the shard was taken anew since; whether it did. */
  const unlessTaken = (fence: Fence, write: () => unknown): boolean => {
    if (fence !== null && tables.shards[fence.shard]?.term !== fence.term) return false
    write()
    return true
  }

  return {
    list: Effect.sync(() =>
      [...sessions]
        .toSorted(([a], [b]) => a - b)
        .flatMap(([numberId, { leavingSince }]) => {
          const lane = tables.lanes.get(numberId)
          if (lane === undefined) return []
          const { platform, status } = lane.number
          return {
            numberId,
            platform,
            status,
            removed: lane.removed,
            leavingSince,
            pauseReason: lane.control.pauses.first?.reason ?? null,
            reason: lane.changed?.reason ?? null,
            proxy: lane.proxy?.url ?? null,
          }
        }),
    ),

    credentials: (numberId) => sessions.get(numberId)?.credentials ?? null,

    keys: (numberId, type, ids) => {
      const ofType = sessions.get(numberId)?.keys.get(type)
      return new Map(
        ids.flatMap((id) => {
          const value = ofType?.get(id)
          return value === undefined ? [] : [[id, value]]
        }),
      )
    },

    write: (numberId, credentials, keys, _now, fence) =>
      unlessTaken(fence, () => {
        if (laneOf(tables, numberId) === undefined) return
        const known = sessions.get(numberId)
        // Keys without credentials are nothing that a device could come back with.
        if (known === undefined && credentials === null) return
        const session = known ?? { credentials: "", leavingSince: null, keys: new Map() }
        if (credentials !== null) session.credentials = credentials
        writeKeys(session, keys)
        sessions.set(numberId, session)
      }),

    replace: (numberId, credentials, keys, _now, fence) =>
      unlessTaken(fence, () => {
        if (laneOf(tables, numberId) === undefined) return
        const session: SessionRow = { credentials, leavingSince: null, keys: new Map() }
        writeKeys(session, keys)
        sessions.set(numberId, session)
      }),

    exchange: (numberId, before, credentials, keys, now, account = null) => {
      if ((sessions.get(numberId)?.credentials ?? null) !== before) return false
      if (credentials === null) {
        sessions.delete(numberId)
        return true
      }
      const lane = laneOf(tables, numberId)
      if (lane === undefined) return false
      if (account !== null) {
        const phone = account.phone ?? lane.number.phone
        if (account.phone !== null && isAnothers(tables, lane, account.phone)) {
          return "phone_of_another_number"
        }
        const { status } = lane.number
        setStatus(
          lane,
          { status, phone },
          now,
          status === "disconnected" ? reasonOnceResumed : null,
        )
        endOwnPauses(tables, lane, now)
      }
      const session: SessionRow = { credentials, leavingSince: null, keys: new Map() }
      writeKeys(session, keys)
      sessions.set(numberId, session)
      return true
    },

    trim: (numberId, type, most, fence) =>
      unlessTaken(fence, () => {
        const ofType = sessions.get(numberId)?.keys.get(type)
        if (ofType === undefined) return
        for (const id of [...ofType.keys()].slice(0, Math.max(0, ofType.size - most))) {
          ofType.delete(id)
        }
      }),

    leave: (numberId, now, fence) =>
      unlessTaken(fence, () => {
        const session = sessions.get(numberId)
        if (session !== undefined) session.leavingSince ??= now
      }),

    wipe: (numberId, fence) => unlessTaken(fence, () => sessions.delete(numberId)),
  }
}
