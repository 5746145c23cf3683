/** What PostgreSQL knows of the tables in the schema `messaging`, a line for each thing. */
import { Effect } from "effect"
import type { DatabaseService } from "../src/database/Database.ts"

const lines = `
select told.line
from (
  select concat_ws(' ', 'table', c.relname, c.relpersistence, c.reloptions::text) as line
  from pg_class c
  where c.relnamespace = 'messaging'::regnamespace
    and c.relkind in ('r', 'S')
  union all
  select concat_ws(
    ' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attstorage, a.attoptions::text
  )
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid
    and a.attnum > 0
    and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid
    and d.adnum = a.attnum
  where c.relnamespace = 'messaging'::regnamespace
    and c.relkind = 'r'
  union all
  select pg_get_indexdef(i.indexrelid)
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  where c.relnamespace = 'messaging'::regnamespace
  union all
  select concat_ws(' ', 'constraint', t.conrelid::regclass::text, t.conname, pg_get_constraintdef(t.oid))
  from pg_constraint t
  where t.connamespace = 'messaging'::regnamespace
  union all
  select concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled)
  from pg_trigger t
  where not t.tgisinternal
) told
order by told.line collate "C"`

/** Not in order of the columns: those that a migration adds come last. */
export const readCatalogue = (database: DatabaseService) =>
  Effect.map(database.query<{ readonly line: string }>("catalogue", lines), (rows) =>
    rows.map(({ line }) => line),
  )
