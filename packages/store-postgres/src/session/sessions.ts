/** What live transports keep, sealed. */
import { shardCount } from "@messaging-service/core"
import type {
  Exchanged,
  Fence,
  ShardLease,
  StoredSession,
  KeyChange,
  LiveWorker,
  LoggedIn,
  NewReceived,
  NumberId,
  SessionStore,
  Shard,
  ShardLeases,
  ShardTable,
  WorkerId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type * as SqlError from "effect/sql/SqlError"
import { receiveIn } from "../chat/receive.ts"
import { batched, batching } from "../database/Batcher.ts"
import type { DatabaseService, RunStatement } from "../database/Database.ts"
import { millis, statement, toColumns } from "../database/Sql.ts"
import type { Element, Params, Row } from "../database/Sql.ts"
import { control, toControl } from "../queue/lanes.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"

// Credentials that are exchanged for others, with what an account that has logged in changes of its number.

const exchange = statement("session.exchange")
const lockWorkspace = statement("session.lockWorkspace")
const isAnothers = statement("session.isAnothers")
const lockCampaigns = statement("session.lockCampaigns")
const lockLane = statement("session.lockLane")
const reportRelinked = statement("session.relinked")
const setAccount = statement("session.account")

interface Exchange {
  readonly numberId: NumberId
  readonly before: string | null
  readonly credentials: string | null
  readonly account: LoggedIn | null
  readonly now: number
}

/** See `SessionStore.exchange`: all of it but the keys, in that transaction. */
const exchangeWithin = Effect.fnUntraced(function* exchangeWithin(
  run: RunStatement,
  { account, before, credentials, now, numberId }: Exchange,
): Effect.fn.Return<Exchanged, SqlError.SqlError> {
  const phone = account?.phone ?? null
  if (account !== null) {
    yield* lockCampaigns.in(run, { numberId })
    yield* lockLane.in(run, { numberId })
  }
  if (phone !== null) {
    yield* lockWorkspace.in(run, { numberId })
    const [other] = yield* isAnothers.in(run, {
      numberId,
      before,
      phone,
    })
    if (other?.held === true) return "phone_of_another_number"
  }
  const params = { numberId, before, credentials }
  const [row] = yield* exchange.in(run, params)
  if (row?.written !== true) return false
  if (account !== null) {
    const gapEventId = account.events?.gap ?? null
    yield* reportRelinked.in(run, { numberId, now, gapEventId })
    yield* control.in(run, toControl({ numberId, now, linked: true, events: account.events }))
    yield* setAccount.in(run, { numberId, phone, now })
  }
  return true
})

const listKept = statement("session.list")
const getCredentials = statement("session.credentials")
const getKeys = statement("session.keys")

const toKept = (row: Row<"session.list">): StoredSession => ({
  numberId: Number(row.number_id) as NumberId,
  platform: row.platform as StoredSession["platform"],
  status: row.status as StoredSession["status"],
  removed: row.removed,
  leavingSince: millis(row.leaving_at),
  pauseReason: row.pause_reason as StoredSession["pauseReason"],
  reason: row.status_reason as StoredSession["reason"],
  proxy: row.proxy_url,
  hasConversations: row.has_conversations,
})

/** By which taking of its shard a number is written; both are null where any write will do. */
const toFence = (fence: Fence) => ({ shard: fence?.shard ?? null, term: fence?.term ?? null })

/** What is written of one number. */
interface Write {
  readonly numberId: NumberId
  /** Null where they stay as they are. */
  readonly credentials: string | null
  readonly keys: ReadonlyArray<KeyChange>
  readonly now: number
  readonly fence: Fence
}

const writeSessions = statement("session.write")

type WriteElement = Element<"session.write">
type KeyElement = Pick<WriteElement, "ids" | "keyNumberIds" | "types" | "values">

const toWriteElement = (write: Write): Omit<WriteElement, keyof KeyElement> => ({
  numberIds: write.numberId,
  credentials: write.credentials,
  times: write.now,
  shards: write.fence?.shard ?? null,
  terms: write.fence?.term ?? null,
})

const toKeyElements = ({ keys, numberId }: Write): ReadonlyArray<KeyElement> =>
  keys.map(({ id, type, value }) => ({
    keyNumberIds: numberId,
    types: type,
    ids: id,
    values: value,
  }))

const toWriteParams = (writes: ReadonlyArray<Write>): Params<"session.write"> => ({
  ...toColumns(writes.map(toWriteElement)),
  ...toColumns(writes.flatMap(toKeyElements)),
})

/** Whether each was written. What comes second of one number is written in a second statement. */
const writeTogether = (database: DatabaseService) =>
  Effect.fnUntraced(function* writeBatch(writes: ReadonlyArray<Write>) {
    const isWritten = new Map<Write, boolean>()
    let left = writes
    while (left.length > 0) {
      const ofNumbers = new Map<NumberId, Write>()
      for (const one of left) {
        if (!ofNumbers.has(one.numberId)) ofNumbers.set(one.numberId, one)
      }
      const first = [...ofNumbers.values()]
      const rows = yield* writeSessions.rows(database, toWriteParams(first))
      first.forEach((one, index) => isWritten.set(one, rows[index]?.written === true))
      left = left.filter((one) => !isWritten.has(one))
    }
    return writes.map((one) => isWritten.get(one) === true)
  })

/** A write with more keys goes alone: hundreds are made when a device is new. */
const maxKeysTogether = 50

/** With what people wrote, in one commit: fenced as any write, and nothing is stored where that refuses. */
const writeReceived = (
  database: DatabaseService,
  queued: DeliveriesQueued,
  write: Write,
  received: ReadonlyArray<NewReceived>,
) =>
  Effect.gen(function* writeWithReceived() {
    const stored = yield* database.transaction("session.write", (run) =>
      Effect.gen(function* writeAndReceive() {
        const [row] = yield* writeSessions.in(run, toWriteParams([write]))
        if (row?.written !== true) return null
        return yield* receiveIn(run, write.numberId, received, write.now)
      }),
    )
    if (stored?.queued === true) yield* queued.notify
    return stored && stored.outcomes
  })

const leave = statement("session.leave")
const wipe = statement("session.wipe")
const keepPresent = statement("session.keepPresent")
const trim = statement("session.trim")

export const sessionStore = Effect.fnUntraced(function* (
  database: DatabaseService,
  queued: DeliveriesQueued,
) {
  // Nothing but the number's own next message waits for a write, so that one statement of many is enough.
  const writeOne = yield* batched(writeTogether(database), {
    ...batching(database),
    concurrency: 1,
  })
  const store: SessionStore = {
    list: listKept.all(database, {}, toKept),
    credentials(numberId) {
      return getCredentials.value(database, { numberId })
    },
    keys(numberId, type, ids) {
      return Effect.map(
        getKeys.rows(database, { numberId, type, ids }),
        (rows) => new Map(rows.map(({ id, value }) => [id, value])),
      )
    },
    write(numberId, credentials, keys, now, by) {
      const one = { numberId, credentials, keys, now, fence: by }
      return keys.length > maxKeysTogether
        ? writeSessions.isTrue(database, toWriteParams([one]))
        : writeOne(one)
    },
    receive(numberId, credentials, keys, now, by, received) {
      const one = { numberId, credentials, keys, now, fence: by }
      return writeReceived(database, queued, one, received)
    },
    replace(numberId, credentials, keys, now, by) {
      return database.transaction("session.replace", (run) =>
        Effect.gen(function* replace() {
          const [isPresent] = yield* keepPresent.in(run, { numberId })
          if (isPresent !== undefined) yield* wipe.in(run, { numberId, ...toFence(by) })
          const one = { numberId, credentials, keys, now, fence: by }
          const [row] = yield* writeSessions.in(run, toWriteParams([one]))
          return row?.written === true
        }),
      )
    },
    exchange(numberId, before, credentials, keys, now, account = null) {
      const exchanged = database.transaction("session.exchange", (run) =>
        Effect.gen(function* exchangeWithKeys() {
          const params = { numberId, before, credentials, account, now }
          const done = yield* exchangeWithin(run, params)
          if (done === true && keys.length > 0) {
            const added = { numberId, credentials: null, keys, now, fence: null }
            yield* writeSessions.in(run, toWriteParams([added]))
          }
          return done
        }),
      )
      return Effect.tap(exchanged, (done) =>
        done === true && account?.events !== undefined ? queued.notify : Effect.void,
      )
    },
    trim(numberId, type, most, by) {
      return trim.isTrue(database, { numberId, type, most, ...toFence(by) })
    },
    markLeaving(numberId, now, by) {
      return leave.isTrue(database, { numberId, now, ...toFence(by) })
    },
    wipe(numberId, by) {
      return wipe.isTrue(database, { numberId, ...toFence(by) })
    },
  }
  return store
})

// Which worker has which shard of numbers.

const joinWorkers = statement("shard.join")
const beatOnce = statement("shard.beat")
const endWorkers = statement("shard.end")
const takeShards = statement("shard.take")
const releaseShards = statement("shard.give")
const leaveShards = statement("shard.leave")
const findOwner = statement("shard.holder")
const allHolders = statement("shard.holders")

const counted = (shards: ReadonlyArray<bigint>): ReadonlyArray<number> => {
  const counts = Array.from({ length: shardCount }, () => 0)
  for (const shard of shards) counts[Number(shard)] = (counts[Number(shard)] ?? 0) + 1
  return counts
}

const toTable = (row: Row<"shard.beat">): ShardTable => {
  const linked = counted(row.linked)
  const linking = counted(row.linking)
  return {
    workers: row.workers.map((id, index) => ({
      id: Number(id) as WorkerId,
      most: Number(row.most[index]),
      beat: Number(row.beats[index]),
    })),
    shards: row.holders.map((owner, shard) => ({
      workerId: owner === 0n ? null : (Number(owner) as WorkerId),
      term: Number(row.terms[shard]),
      linked: linked[shard] ?? 0,
      linking: linking[shard] ?? 0,
    })),
  }
}

const toHeldShard = (row: Row<"shard.take">): ShardLease => ({
  shard: row.shard as Shard,
  term: Number(row.term),
})

const toSilentElement = ({ beat, id }: Pick<LiveWorker, "beat" | "id">): Element<"shard.end"> => ({
  ids: id,
  beats: beat,
})

const toHeldElement = ({ shard, term }: ShardLease): Element<"shard.give"> => ({
  shards: shard,
  terms: term,
})

export const shardLeases = (database: DatabaseService): ShardLeases => ({
  addWorker(name, most) {
    return joinWorkers.one(database, { name, most }, ({ id }) => Number(id) as WorkerId)
  },
  beat(id) {
    return beatOnce.first(database, { id, count: shardCount }, toTable)
  },
  endWorkers(silent) {
    return endWorkers.run(database, toColumns(silent.map(toSilentElement)))
  },
  takeShards(id, shards) {
    return takeShards.all(database, { id, shards }, toHeldShard)
  },
  releaseShards(id, leases) {
    return releaseShards.run(database, { id, ...toColumns(leases.map(toHeldElement)) })
  },
  removeWorker(id) {
    return leaveShards.run(database, { id })
  },
  findOwner(shard) {
    return findOwner.value(database, { shard })
  },
  holders: Effect.map(
    allHolders.rows(database, {}),
    (rows) => new Map(rows.map(({ name, shard }) => [shard as Shard, name])),
  ),
})
