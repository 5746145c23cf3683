/** What live transports keep, sealed. */
import { sqlFiles } from "../sql.generated.ts"
import type { Fence, KeptSession, KeyChange, NumberId, SessionStore } from "@messaging-service/core"
import { Effect } from "effect"
import { coalesced, coalescing } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant, integer, millis, text, texts } from "../database/Fields.ts"
import { each, given, joined, part, single, statement } from "../database/Statement.ts"
import { exchangeWithin } from "./exchange.ts"

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
