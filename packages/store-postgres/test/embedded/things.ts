/** What tests of power cuts write, and what must be found of it afterwards. */
import type { PGlite } from "@electric-sql/pglite"
import { DurableNodeFS, openDurable } from "../../src/pglite/DurablePglite.ts"

/** The same numbers from the same seed (mulberry32), between 0 and 1. */
export const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

export const makeThings = `create table things (
  "group" integer,
  number integer,
  text text,
  primary key ("group", number)
)`

const rowsOf = 5

/** Rows that belong together, and changes of others, so that pages of all ages are written. */
export const makeWork = (group: number, random: () => number): readonly [string, string] => {
  const insert = `insert into things select ${group}, g, md5(g::text || ${group}) from generate_series(1, ${rowsOf}) g`
  const update = `update things set text = md5(text) where "group" % 50 = ${Math.floor(random() * 50)} and number = 1`
  return [insert, update]
}

/** Of images, which nothing happens to any more: to sync them would take most of the time. */
class ImageFiles extends DurableNodeFS {
  protected override sync(): void {}
}

/** The faults of an image after so many acknowledgements. */
export const findFaults = async (
  path: string,
  acknowledged: ReadonlySet<number>,
): Promise<ReadonlyArray<string>> => {
  let database: PGlite
  try {
    database = await openDurable({ files: new ImageFiles(path), onDeath: () => undefined })
  } catch (cause) {
    return [`it does not open: ${String(cause)}`]
  }
  const read = async (text: string) => {
    const { rows } = await database.query<{ readonly group: number; readonly rows: number }>(text)
    return new Map(rows.map((row) => [row.group, row.rows]))
  }
  const count = `select "group", count(*)::integer as rows from things where "group" > 0 group by 1`
  const byTable = await read(count)
  await database.exec("set enable_seqscan = off; set enable_bitmapscan = off")
  const byIndex = await read(count)
  await database.exec("insert into things values (-1, 1, ''); reindex table things")
  await database.close()
  return [
    ...[...acknowledged].filter((group) => !byTable.has(group)).map((group) => `${group} is lost`),
    ...[...byTable].flatMap(([group, rows]) =>
      rows === rowsOf && byIndex.get(group) === rows
        ? []
        : [`${group} has ${rows} rows, by its index ${byIndex.get(group)}`],
    ),
  ]
}
