/** Which worker has which shard of numbers. */
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

/**
 * One row, or none when the worker is not there. Statements that end a worker wait for its row, so a
 * worker that was found alive here is ended by none that has not seen this beat.
 */
const beat = statement("shards.beat", given({ id: bigint, count: bigint }))`
with alive as (
  update workers w
  set beat = w.beat + 1
  where w.id = $id
  returning w.id
)
select
  array(select w.id from workers w order by w.id) as workers,
  array(select w.most from workers w order by w.id) as most,
  array(select w.beat from workers w order by w.id) as beats,
  array(select coalesce(s.worker_id, 0) from number_shards s order by s.shard) as holders,
  array(select s.term from number_shards s order by s.shard) as terms,
  array(
    select :code.shard_of(s.number_id, $count)
    from sessions s
  ) as linked,
  array(
    select :code.shard_of(a.number_id, $count)
    from linking_attempts a
    where a.mode = 'live'
      and not exists (
        select
        from sessions s
        where s.number_id = a.number_id
      )
  ) as linking
from alive`

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

/** Locks the workers by id. One that has shown life since drops out once its row is locked. */
const end = statement(
  "shards.end",
  each({ ids: bigint((one: Silent) => one.id), beats: bigint((one: Silent) => one.beat) }),
)`
with silent as (
  select w.id
  from workers w
  join unnest($ids, $beats) seen (id, beat) on seen.id = w.id and seen.beat = w.beat
  order by w.id
  for update of w
)
delete from workers w
using silent
where w.id = silent.id`

/** Locks the worker, so that it cannot be ended meanwhile, then the shards that no other locks. */
const take = statement(
  "shards.take",
  joined(given({ id: bigint }), part("shards", each({ shards: integer((shard: Shard) => shard) }))),
)`
with worker as (
  select w.id
  from workers w
  where w.id = $id
  for key share
),
free as (
  select s.shard
  from worker
  cross join number_shards s
  where s.shard = any ($shards)
    and s.worker_id is null
  order by s.shard
  for no key update of s skip locked
)
update number_shards s
set worker_id = $id, term = s.term + 1
from free
where s.shard = free.shard
returning s.shard, s.term`

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
)`
update number_shards s
set worker_id = null
from unnest($shards, $terms) held (shard, term)
where s.shard = held.shard
  and s.term = held.term
  and s.worker_id = $id`

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
