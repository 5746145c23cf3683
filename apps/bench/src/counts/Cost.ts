/**
 * What a piece of work costs the database, in counts that do not depend on the machine: read from the WAL
 * and from the server's statistics, before and after it.
 */
import { Effect } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"

/** What the cluster needs so that its work can be counted; nothing else writes meanwhile. */
export const countedSettings: Readonly<Record<string, string>> = {
  fsync: "off",
  full_page_writes: "off",
  autovacuum: "off",
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "top",
  max_wal_size: "8GB",
  checkpoint_timeout: "30min",
}

export interface Cost {
  /** Bytes of WAL, without page images. */
  readonly wal: number
  /** Entries that went into indexes. */
  readonly entries: number
  /** Of them into those of `messages`. */
  readonly messageEntries: number
  /** Versions of rows that were replaced or deleted. */
  readonly dead: number
  /** Of them lanes. */
  readonly lanes: number
  /** Pages that statements looked at. */
  readonly buffers: number
  /** Round trips. */
  readonly statements: number
  readonly commits: number
}

const prepared = `
create extension if not exists pg_stat_statements;
create extension if not exists pg_walinspect`

/** Statistics are shown once a backend is idle, and WAL can be read up to the last commit. */
const settled = "select pg_sleep(1.1), pg_logical_emit_message(true, 'counts', '')"

const statistics = `
select
  pg_current_wal_flush_lsn()::text as at,
  (select sum(t.n_tup_upd + t.n_tup_del) from pg_stat_user_tables t) as dead,
  (
    select t.n_tup_upd + t.n_tup_del
    from pg_stat_user_tables t
    where t.relname = 'lanes'
  ) as lanes`

const statementsRun = `
select sum(s.calls) as statements, sum(s.shared_blks_hit + s.shared_blks_read) as buffers
from pg_stat_statements s
join pg_database d on d.oid = s.dbid
where d.datname = current_database()
  and s.query !~* '^(begin|commit|select pg_|create extension)'`

const written = `
select
  sum(r.record_length) as bytes,
  count(*) filter (where r.record_type = 'COMMIT') as commits,
  count(*) filter (where r.is_entry) as entries,
  count(*) filter (where r.is_entry and r.of_messages) as message_entries
from (
  select
    w.record_length, w.record_type,
    w.resource_manager = 'Hash' and w.record_type = 'INSERT'
      or w.resource_manager = 'Btree' and w.record_type ~ '^(INSERT_(LEAF|POST)|SPLIT)' as is_entry,
    exists (
      select
      from pg_index i
      where i.indrelid = 'messages'::regclass
        and w.block_ref like '%/' || pg_relation_filenode(i.indexrelid) || ' %'
    ) as of_messages
  from pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn) w
) r`

/** What the work costs. Nothing else may use the cluster meanwhile. */
export const measureCost = Effect.fnUntraced(function* measureCost<E, R>(
  database: BenchDatabase,
  work: Effect.Effect<unknown, E, R>,
) {
  const one = (text: string, values?: ReadonlyArray<unknown>) =>
    Effect.map(database.query(text, values), ([row]) => row ?? {})
  yield* database.query(prepared)
  yield* database.query(settled)
  const before = yield* one(statistics)
  yield* database.query("select pg_stat_statements_reset()")
  yield* work
  const ran = yield* one(statementsRun)
  yield* database.query(settled)
  const after = yield* one(statistics)
  const created = yield* one(written, [before["at"], after["at"]])
  const cost: Cost = {
    wal: Number(created["bytes"]),
    entries: Number(created["entries"]),
    messageEntries: Number(created["message_entries"]),
    dead: Number(after["dead"]) - Number(before["dead"]),
    lanes: Number(after["lanes"]) - Number(before["lanes"]),
    buffers: Number(ran["buffers"]),
    statements: Number(ran["statements"]),
    commits: Number(created["commits"]),
  }
  return cost
})
