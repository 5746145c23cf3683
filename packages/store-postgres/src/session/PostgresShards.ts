/** Which worker has which shard of numbers. */
import { sqlFiles } from "../sql.generated.ts"
import { shardCount } from "@messaging-service/core"
import type {
  HeldShard,
  LiveWorker,
  Shard,
  ShardLeases,
  ShardTable,
  WorkerId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, integer, text } from "../database/Fields.ts"
import { each, given, joined, part, statement } from "../database/Statement.ts"

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

const leave = statement("shards.leave", given({ id: bigint }))`
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
  leave: (id) => leave.run(database, { id }),
  holderOf: (shard) => holderOf.value<string>(database, { shard }),
})
