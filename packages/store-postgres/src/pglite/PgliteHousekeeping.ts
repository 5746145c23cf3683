/**
 * What a PostgreSQL server does by processes of its own, and a PGlite never: checkpoints, without which WAL and
 * the time of a recovery grow without bound, and vacuum, without which dead rows are never used again.
 */

/** Runs statements of our own between those of others; the rows of the last one. */
type Exec = (text: string) => Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>

/** WAL that a recovery reads at most, or nearly so; about 2 s of it. */
const longestWalBytes = 64 * 1024 * 1024

/** A database that is seldom written to recovers quickly too, and is left alone where there is next to nothing to do. */
const longestWalMillis = 5 * 60_000
const minWalBytes = 64 * 1024

const walBytes = `select (pg_current_wal_insert_lsn() - redo_lsn)::float8 as bytes
from pg_control_checkpoint()`

/** How often dead rows are counted. */
const countsMillis = 60_000

/** The counts of this session, which nothing else hands in; they are there for the next statement. */
const handInCounts = "select pg_stat_force_next_flush()"

/** With as many dead rows as autovacuum waits for, or row versions so old that their numbers would run out. */
const worthVacuum = `select format('%I.%I', s.schemaname, s.relname) as name
from pg_stat_all_tables s
join pg_class c on c.oid = s.relid
where c.relkind = 'r'
  and (s.n_dead_tup > 500 + 0.2 * s.n_live_tup or age(c.relfrozenxid) > 100000000)`

/**
 * Whether a table that was just vacuumed takes 4 MB for less than a row in each page (no row fills one: long values
 * lie elsewhere), or for indexes that are far larger than itself. Only to write it once more gives that back, and
 * takes little, since little is in it.
 */
const isHollow = (name: string) => `select
  s.n_live_tup < pg_relation_size(s.relid) / 8192 and pg_relation_size(s.relid) > 4 * 1024 * 1024
  or pg_indexes_size(s.relid) > greatest(4 * pg_table_size(s.relid), 4 * 1024 * 1024) as "isHollow"
from pg_stat_user_tables s
where s.relid = '${name.replaceAll("'", "''")}'::regclass`

export class PgliteHousekeeping {
  readonly #exec: Exec
  #checkpointAt: number
  #countedAt: number

  constructor(exec: Exec, now: number) {
    this.#exec = exec
    this.#checkpointAt = now
    this.#countedAt = now
  }

  /** Does what is due; `now` is of a monotonic clock, in milliseconds. */
  async run(now: number): Promise<void> {
    if (now - this.#countedAt >= countsMillis) {
      this.#countedAt = now
      await this.#vacuum()
    }
    const [row] = await this.#exec(walBytes)
    const bytes = Number(row?.["bytes"])
    const isLate = now - this.#checkpointAt >= longestWalMillis && bytes >= minWalBytes
    if (bytes < longestWalBytes && !isLate) return
    this.#checkpointAt = now
    await this.#exec("checkpoint")
  }

  /** One table after the other, so that others have their turn in between. */
  async #vacuum(): Promise<void> {
    await this.#exec(handInCounts)
    for (const row of await this.#exec(worthVacuum)) {
      const name = String(row["name"])
      await this.#exec(`vacuum ${name}`)
      const [found] = await this.#exec(isHollow(name))
      if (found?.["isHollow"] === true) await this.#exec(`vacuum full ${name}`)
    }
  }
}
