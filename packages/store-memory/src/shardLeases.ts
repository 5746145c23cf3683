/** `ShardLeases` in memory: for the tests of several workers in one process. */
import { shardOf } from "@messaging-service/core"
import type { LiveWorker, ShardLeases, WorkerId } from "@messaging-service/core"
import type { Steps } from "./collections.ts"
import type { Tables } from "./tables.ts"

export const shardLeases = (tables: Tables): Steps<typeof ShardLeases.Service> => {
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
    join: (name, most) => {
      const id = ++lastId as WorkerId
      workers.set(id, { worker: { id, most, beat: 0 }, name })
      return id
    },

    beat: (id) => {
      const known = workers.get(id)
      if (known === undefined) return null
      known.worker = { ...known.worker, beat: known.worker.beat + 1 }
      const states = shards.map((state) => ({ ...state, linked: 0, linking: 0 }))
      for (const numberId of tables.sessions.keys()) {
        const state = states[shardOf(numberId)]
        if (state !== undefined) state.linked++
      }
      for (const [numberId, { attempt }] of tables.linkings) {
        const state = states[shardOf(numberId)]
        if (state === undefined || attempt.mode !== "live") continue
        if (!tables.sessions.has(numberId)) state.linking++
      }
      return { workers: Array.from(workers.values(), ({ worker }) => worker), shards: states }
    },

    end: (silent) => {
      for (const { beat, id } of silent) {
        if (workers.get(id)?.worker.beat === beat) remove(id)
      }
    },

    take: (id, wanted) =>
      wanted.flatMap((shard) => {
        const state = shards[shard]
        if (!workers.has(id) || state === undefined || state.workerId !== null) return []
        const term = state.term + 1
        shards[shard] = { workerId: id, term }
        return { shard, term }
      }),

    give: (id, held) => {
      for (const { shard, term } of held) {
        const state = shards[shard]
        if (state?.workerId === id && state.term === term) shards[shard] = { workerId: null, term }
      }
    },

    leave: remove,

    holderOf: (shard) => {
      const holder = shards[shard]?.workerId ?? null
      return holder === null ? null : (workers.get(holder)?.name ?? null)
    },
  }
}
