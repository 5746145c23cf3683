/** `SessionStore` and `ShardLeases` in memory: stored sessions, and which worker owns which shard. */
import { reasonOnceResumed, toShard } from "@messaging-service/core"
import type {
  Shard,
  Fence,
  KeyChange,
  LiveWorker,
  NumberId,
  ReceivedOutcome,
  SessionStore,
  ShardLeases,
  WorkerId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { Steps } from "./collections.ts"
import { receive } from "./receive.ts"
import { endOwnPauses } from "./laneQueue.ts"
import { reportGap, setStatus } from "./lanes.ts"
import { isAnothers } from "./numbers.ts"
import { findLane } from "./tables.ts"
import type { SessionRow, Tables } from "./tables.ts"

const writeKeys = (
  { keys }: SessionRow,
  changes: ReadonlyArray<KeyChange>,
  writtenAt: number,
): void => {
  for (const { id, type, value } of changes) {
    const ofType = keys.get(type) ?? new Map<string, { value: string; writtenAt: number }>()
    keys.set(type, ofType)
    if (value === null) ofType.delete(id)
    else ofType.set(id, { value, writtenAt })
  }
}

/** Writes unless another worker has taken the shard since; returns whether it wrote. */
const unlessTaken = (tables: Tables, fence: Fence, write: () => unknown): boolean => {
  if (fence !== null && tables.shards[fence.shard]?.term !== fence.term) return false
  write()
  return true
}

type SessionSteps = Steps<SessionStore>

const readSteps = (tables: Tables): Pick<SessionSteps, "list" | "credentials" | "keys"> => ({
  list: Effect.sync(() =>
    [...tables.sessions]
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
          hasConversations: lane.workspace.conversations !== null,
        }
      }),
  ),

  credentials: (numberId) => tables.sessions.get(numberId)?.credentials ?? null,

  keys: (numberId, type, ids) => {
    const ofType = tables.sessions.get(numberId)?.keys.get(type)
    return new Map(
      ids.flatMap((id) => {
        const key = ofType?.get(id)
        return key === undefined ? [] : [[id, key.value]]
      }),
    )
  },
})

const write = (
  tables: Tables,
  numberId: NumberId,
  credentials: string | null,
  keys: ReadonlyArray<KeyChange>,
  now: number,
): void => {
  if (findLane(tables, numberId) === undefined) return
  const known = tables.sessions.get(numberId)
  // A device cannot come back with keys but no credentials.
  if (known === undefined && credentials === null) return
  const session = known ?? { credentials: "", leavingSince: null, keys: new Map() }
  if (credentials !== null) session.credentials = credentials
  writeKeys(session, keys, now)
  tables.sessions.set(numberId, session)
}

const writeSteps = (
  tables: Tables,
): Pick<
  SessionSteps,
  "write" | "receive" | "replace" | "exchange" | "trim" | "markLeaving" | "wipe"
> => ({
  write: (numberId, credentials, keys, now, fence) =>
    unlessTaken(tables, fence, () => write(tables, numberId, credentials, keys, now)),

  receive: (numberId, credentials, keys, now, fence, received) => {
    let outcomes: ReadonlyArray<ReceivedOutcome> = []
    const isWritten = unlessTaken(tables, fence, () => {
      outcomes = receive(tables, findLane(tables, numberId), received, now)
      write(tables, numberId, credentials, keys, now)
    })
    return isWritten ? outcomes : null
  },

  replace: (numberId, credentials, keys, now, fence) =>
    unlessTaken(tables, fence, () => {
      if (findLane(tables, numberId) === undefined) return
      const session: SessionRow = { credentials, leavingSince: null, keys: new Map() }
      writeKeys(session, keys, now)
      tables.sessions.set(numberId, session)
    }),

  exchange: (numberId, before, credentials, keys, now, account = null) => {
    if ((tables.sessions.get(numberId)?.credentials ?? null) !== before) return false
    if (credentials === null) {
      tables.sessions.delete(numberId)
      return true
    }
    const lane = findLane(tables, numberId)
    if (lane === undefined) return false
    if (account !== null) {
      const phone = account.phone ?? lane.number.phone
      if (account.phone !== null && isAnothers(tables, lane, account.phone)) {
        return "phone_of_another_number"
      }
      const { status } = lane.number
      reportGap(tables, lane, now, account.events)
      setStatus(lane, { status, phone }, now, status === "disconnected" ? reasonOnceResumed : null)
      endOwnPauses(tables, lane, now, account.events)
    }
    const session: SessionRow = { credentials, leavingSince: null, keys: new Map() }
    writeKeys(session, keys, now)
    tables.sessions.set(numberId, session)
    return true
  },

  trim: (numberId, type, max, fence) =>
    unlessTaken(tables, fence, () => {
      const ofType = tables.sessions.get(numberId)?.keys.get(type)
      if (ofType === undefined) return
      const longestUnwritten = [...ofType].toSorted(
        ([a, first], [b, second]) => first.writtenAt - second.writtenAt || (a < b ? -1 : 1),
      )
      for (const [id] of longestUnwritten.slice(0, Math.max(0, ofType.size - max))) {
        ofType.delete(id)
      }
    }),

  markLeaving: (numberId, now, fence) =>
    unlessTaken(tables, fence, () => {
      const session = tables.sessions.get(numberId)
      if (session !== undefined) session.leavingSince ??= now
    }),

  wipe: (numberId, fence) => unlessTaken(tables, fence, () => tables.sessions.delete(numberId)),
})

export const sessionStore = (tables: Tables): SessionSteps => ({
  ...readSteps(tables),
  ...writeSteps(tables),
})

// Shard leases, for tests of several workers in one process

export const shardLeases = (tables: Tables): Steps<ShardLeases> => {
  const workers = new Map<WorkerId, { worker: LiveWorker; readonly name: string }>()
  const { shards } = tables
  let lastId = 0

  const remove = (id: WorkerId) => {
    workers.delete(id)
    for (const [shard, state] of shards.entries()) {
      if (state.workerId === id) shards[shard] = { ...state, workerId: null }
    }
  }

  return {
    addWorker: (name, most) => {
      const id = ++lastId as WorkerId
      workers.set(id, { worker: { id, most, beat: 0 }, name })
      return id
    },

    beat: (id) => {
      const known = workers.get(id)
      if (known === undefined) return null
      const before = Array.from(workers.values(), ({ worker }) => worker)
      known.worker = { ...known.worker, beat: known.worker.beat + 1 }
      const states = shards.map((state) => ({ ...state, linked: 0, linking: 0 }))
      for (const numberId of tables.sessions.keys()) {
        const state = states[toShard(numberId)]
        if (state !== undefined) state.linked++
      }
      for (const [numberId, { attempt }] of tables.linkings) {
        const state = states[toShard(numberId)]
        if (state === undefined || attempt.mode !== "live") continue
        if (!tables.sessions.has(numberId)) state.linking++
      }
      return { workers: before, shards: states }
    },

    endWorkers: (silent) => {
      for (const { beat, id } of silent) {
        if (workers.get(id)?.worker.beat === beat) remove(id)
      }
    },

    takeShards: (id, requested) =>
      requested.flatMap((shard) => {
        const state = shards[shard]
        if (!workers.has(id) || state === undefined || state.workerId !== null) return []
        const term = state.term + 1
        shards[shard] = { workerId: id, term }
        return { shard, term }
      }),

    releaseShards: (id, leases) => {
      for (const { shard, term } of leases) {
        const state = shards[shard]
        if (state?.workerId === id && state.term === term) shards[shard] = { workerId: null, term }
      }
    },

    removeWorker: remove,

    findOwner: (shard) => {
      const owner = shards[shard]?.workerId ?? null
      return owner === null ? null : (workers.get(owner)?.name ?? null)
    },

    holders: Effect.sync(
      () =>
        new Map(
          shards.flatMap(({ workerId }, shard) => {
            const name = workerId === null ? undefined : workers.get(workerId)?.name
            return name === undefined ? [] : [[shard as Shard, name] as const]
          }),
        ),
    ),
  }
}
