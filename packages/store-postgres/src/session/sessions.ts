/** What live transports keep, sealed. */
import { reasonOnceResumed, shardCount } from "@messaging-service/core"
import type {
  Exchanged,
  Fence,
  HeldShard,
  KeptSession,
  KeyChange,
  LiveWorker,
  LoggedIn,
  NumberId,
  SessionStore,
  Shard,
  ShardLeases,
  ShardTable,
  WorkerId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type * as SqlError from "effect/sql/SqlError"
import { coalesced, coalescing } from "../database/Coalesced.ts"
import type { DatabaseService, RunStatement } from "../database/Database.ts"
import { bigint, instant, integer, millis, text, texts } from "../database/Fields.ts"
import { each, given, joined, part, single, statement } from "../database/Statement.ts"
import { changedTo } from "../number/numbers.ts"
import { control } from "../queue/lanes.ts"
import { sqlFiles } from "../sql.generated.ts"

// Credentials that are exchanged for others, with what an account that has logged in changes of its number.

const exchange = statement(
  "session.exchange",
  given({ numberId: bigint, before: text, credentials: text }),
)(sqlFiles["statements/session/exchange.sql"])

/** Of two numbers that get the same phone at once the second one sees what the first one did. */
const lockWorkspace = statement("session.lockWorkspace", given({ numberId: bigint }))`
select w.id
from workspaces w
where w.id = (select n.workspace_id from numbers n where n.id = $numberId)
for no key update`

const isAnothers = statement(
  "session.isAnothers",
  given({ numberId: bigint, before: text, phone: text }),
)(sqlFiles["statements/session/is-anothers.sql"])

/** The lane first, as before every change of a status. */
const lockLane = statement("session.lockLane", given({ numberId: bigint }))`
select l.number_id
from lanes l
where l.number_id = $numberId
for no key update`

const changed = changedTo("n", {
  status: "n.status",
  reason: `case when n.status = 'disconnected' then '${reasonOnceResumed}' end`,
  now: "$now",
})

const setAccount = statement(
  "session.account",
  given({ numberId: bigint, phone: text, now: instant }),
)`
update numbers n
set phone = coalesce($phone, n.phone),
  status_since = ${changed.status_since},
  status_reason = ${changed.status_reason}
where n.id = $numberId`

interface Exchange {
  readonly numberId: NumberId
  readonly before: string | null
  readonly credentials: string | null
  readonly account: LoggedIn | null
  readonly now: number
}

/** See `SessionStore.exchange`: all of it but the keys, in that transaction. */
const exchangeWithin = Effect.fnUntraced(function* (
  run: RunStatement,
  { account, before, credentials, now, numberId }: Exchange,
): Effect.fn.Return<Exchanged, SqlError.SqlError> {
  const phone = account?.phone ?? null
  if (account !== null) yield* lockLane.within(run, { numberId })
  if (phone !== null) {
    yield* lockWorkspace.within(run, { numberId })
    const [other] = yield* isAnothers.within<{ readonly held: boolean }>(run, {
      numberId,
      before,
      phone,
    })
    if (other?.held === true) return "phone_of_another_number"
  }
  const asked = { numberId, before, credentials }
  const [row] = yield* exchange.within<{ readonly written: boolean }>(run, asked)
  if (row?.written !== true) return false
  if (account !== null) {
    yield* control.within(run, { numberId, now, linked: true })
    yield* setAccount.within(run, { numberId, phone, now })
  }
  return true
})

interface KeptRow {
  readonly number_id: bigint
  readonly platform: KeptSession["platform"]
  readonly status: KeptSession["status"]
  readonly removed: boolean
  readonly leaving_at: Date | null
  readonly pause_reason: KeptSession["pauseReason"]
  readonly status_reason: KeptSession["reason"]
  readonly proxy_url: string | null
}

const listKept = statement("session.list", given({}))(sqlFiles["statements/session/list-kept.sql"])

const getCredentials = statement("session.credentials", given({ numberId: bigint }))`
select s.credentials
from sessions s
where s.number_id = $numberId`

const getKeys = statement("session.keys", given({ numberId: bigint, type: text, ids: texts }))`
select k.id, k.value
from session_keys k
where k.number_id = $numberId
  and k.type = $type
  and k.id = any ($ids)`

/** By which taking of its shard a number is written; both are null where any write will do. */
const fenced = part(
  "fence",
  single({
    shard: integer((fence: Fence) => fence?.shard ?? null),
    term: bigint((fence: Fence) => fence?.term ?? null),
  }),
)

/** What is written of one number. */
interface Write {
  readonly numberId: NumberId
  /** Null where they stay as they are. */
  readonly credentials: string | null
  readonly keys: ReadonlyArray<KeyChange>
  readonly now: number
  readonly fence: Fence
}

interface KeyOfNumber extends KeyChange {
  readonly numberId: NumberId
}

const writing = joined(
  part(
    "writes",
    each({
      numberIds: bigint((write: Write) => write.numberId),
      credentials: text((write: Write) => write.credentials),
      times: instant((write: Write) => write.now),
      shards: integer((write: Write) => write.fence?.shard ?? null),
      terms: bigint((write: Write) => write.fence?.term ?? null),
    }),
  ),
  part(
    "keys",
    each({
      keyNumberIds: bigint((key: KeyOfNumber) => key.numberId),
      types: text((key: KeyOfNumber) => key.type),
      ids: text((key: KeyOfNumber) => key.id),
      values: text((key: KeyOfNumber) => key.value),
    }),
  ),
)

const write = statement("session.write", writing)(sqlFiles["statements/session/write.sql"])

interface WrittenRow {
  readonly written: boolean
}

const writeOf = (writes: ReadonlyArray<Write>) => ({
  writes,
  keys: writes.flatMap(({ keys, numberId }) => keys.map((key) => ({ ...key, numberId }))),
})

/** Whether each was written. What comes second of one number is written in a second statement. */
const writeTogether = (database: DatabaseService) =>
  Effect.fnUntraced(function* (writes: ReadonlyArray<Write>) {
    const isWritten = new Map<Write, boolean>()
    let left = writes
    while (left.length > 0) {
      const ofNumbers = new Map<NumberId, Write>()
      for (const one of left) {
        if (!ofNumbers.has(one.numberId)) ofNumbers.set(one.numberId, one)
      }
      const first = [...ofNumbers.values()]
      const rows = yield* write.rows<WrittenRow>(database, writeOf(first))
      first.forEach((one, place) => isWritten.set(one, rows[place]?.written === true))
      left = left.filter((one) => !isWritten.has(one))
    }
    return writes.map((one) => isWritten.get(one) === true)
  })

/** A write with more keys goes alone: hundreds are made when a device is new. */
const mostKeysTogether = 50

const leave = statement(
  "session.leave",
  joined(given({ numberId: bigint, now: instant }), fenced),
)(sqlFiles["statements/session/leave.sql"])

const wipe = statement(
  "session.wipe",
  joined(given({ numberId: bigint }), fenced),
)(sqlFiles["statements/session/wipe.sql"])

/** No row where it was removed; else it is not before the transaction is over. */
const keepPresent = statement("session.keepPresent", given({ numberId: bigint }))`
select l.number_id
from lanes l
where l.number_id = $numberId
  and l.removed_at is null
for share`

const trim = statement(
  "session.trim",
  joined(given({ numberId: bigint, type: text, most: integer }), fenced),
)(sqlFiles["statements/session/trim.sql"])

export const sessionStore = Effect.fnUntraced(function* (database: DatabaseService) {
  // Nothing but the number's own next message waits for a write, so that one statement of many is enough.
  const together = yield* coalesced(writeTogether(database), {
    ...coalescing(database),
    places: 1,
  })
  const store: typeof SessionStore.Service = {
    list: listKept.all(database, {}, (row: KeptRow) => ({
      numberId: Number(row.number_id) as NumberId,
      platform: row.platform,
      status: row.status,
      removed: row.removed,
      leavingSince: millis(row.leaving_at),
      pauseReason: row.pause_reason,
      reason: row.status_reason,
      proxy: row.proxy_url,
    })),
    credentials: (numberId) => getCredentials.value<string>(database, { numberId }),
    keys: (numberId, type, ids) =>
      Effect.map(
        getKeys.rows<{ readonly id: string; readonly value: string }>(database, {
          numberId,
          type,
          ids,
        }),
        (rows) => new Map(rows.map(({ id, value }) => [id, value])),
      ),
    write: (numberId, credentials, keys, now, by) => {
      const one = { numberId, credentials, keys, now, fence: by }
      return keys.length > mostKeysTogether ? write.holds(database, writeOf([one])) : together(one)
    },
    replace: (numberId, credentials, keys, now, by) =>
      database.transaction("session.replace", (run) =>
        Effect.gen(function* () {
          const [isPresent] = yield* keepPresent.within(run, { numberId })
          if (isPresent !== undefined) yield* wipe.within(run, { numberId, fence: by })
          const one = { numberId, credentials, keys, now, fence: by }
          const [row] = yield* write.within<WrittenRow>(run, writeOf([one]))
          return row?.written === true
        }),
      ),
    exchange: (numberId, before, credentials, keys, now, account = null) =>
      database.transaction("session.exchange", (run) =>
        Effect.gen(function* () {
          const done = yield* exchangeWithin(run, {
            numberId,
            before,
            credentials,
            account,
            now,
          })
          if (done === true && keys.length > 0) {
            const added = { numberId, credentials: null, keys, now, fence: null }
            yield* write.within(run, writeOf([added]))
          }
          return done
        }),
      ),
    trim: (numberId, type, most, by) => trim.holds(database, { numberId, type, most, fence: by }),
    leave: (numberId, now, by) => leave.holds(database, { numberId, now, fence: by }),
    wipe: (numberId, by) => wipe.holds(database, { numberId, fence: by }),
  }
  return store
})

// Which worker has which shard of numbers.

const joinAs = statement("shards.join", given({ name: text, most: bigint }))`
insert into workers (name, most, beat)
values ($name, $most, 0)
returning id`

const beat = statement(
  "shards.beat",
  given({ id: bigint, count: bigint }),
)(sqlFiles["statements/session/beat.sql"])

interface BeatRow {
  readonly workers: ReadonlyArray<bigint>
  readonly most: ReadonlyArray<bigint>
  readonly beats: ReadonlyArray<bigint>
  /** 0 for a free shard. */
  readonly holders: ReadonlyArray<bigint>
  readonly terms: ReadonlyArray<bigint>
  /** The shard of each number. */
  readonly linked: ReadonlyArray<bigint>
  readonly linking: ReadonlyArray<bigint>
}

const counted = (shards: ReadonlyArray<bigint>): ReadonlyArray<number> => {
  const counts = Array.from({ length: shardCount }, () => 0)
  for (const shard of shards) counts[Number(shard)] = (counts[Number(shard)] ?? 0) + 1
  return counts
}

const toTable = (row: BeatRow): ShardTable => {
  const linked = counted(row.linked)
  const linking = counted(row.linking)
  return {
    workers: row.workers.map((id, place) => ({
      id: Number(id) as WorkerId,
      most: Number(row.most[place]),
      beat: Number(row.beats[place]),
    })),
    shards: row.holders.map((holder, shard) => ({
      workerId: holder === 0n ? null : (Number(holder) as WorkerId),
      term: Number(row.terms[shard]),
      linked: linked[shard] ?? 0,
      linking: linking[shard] ?? 0,
    })),
  }
}

type Silent = Pick<LiveWorker, "id" | "beat">

const end = statement(
  "shards.end",
  each({ ids: bigint((one: Silent) => one.id), beats: bigint((one: Silent) => one.beat) }),
)(sqlFiles["statements/session/end.sql"])

const take = statement(
  "shards.take",
  joined(given({ id: bigint }), part("shards", each({ shards: integer((shard: Shard) => shard) }))),
)(sqlFiles["statements/session/take.sql"])

const give = statement(
  "shards.give",
  joined(
    given({ id: bigint }),
    part(
      "held",
      each({
        shards: integer((one: HeldShard) => one.shard),
        terms: bigint((one: HeldShard) => one.term),
      }),
    ),
  ),
)(sqlFiles["statements/session/give.sql"])

const leaveShards = statement("shards.leave", given({ id: bigint }))`
delete from workers w
where w.id = $id`

const holderOf = statement("shards.holder", given({ shard: integer }))`
select w.name
from number_shards s
join workers w on w.id = s.worker_id
where s.shard = $shard`

export const shardLeases = (database: DatabaseService): typeof ShardLeases.Service => ({
  join: (name, most) =>
    Effect.map(joinAs.one<bigint>(database, { name, most }), (id) => Number(id) as WorkerId),
  beat: (id) => beat.first(database, { id, count: shardCount }, toTable),
  end: (silent) => end.run(database, silent),
  take: (id, shards) =>
    take.all(
      database,
      { id, shards },
      (row: { readonly shard: number; readonly term: bigint }): HeldShard => ({
        shard: row.shard as Shard,
        term: Number(row.term),
      }),
    ),
  give: (id, held) => give.run(database, { id, held }),
  leave: (id) => leaveShards.run(database, { id }),
  holderOf: (shard) => holderOf.value<string>(database, { shard }),
})
