/** A later version of the tables, such as there will be: a column, an index and a rule more. */
import { schema } from "../src/migrations/index.ts"
import type { Migration, Schema } from "../src/migrations/migrate.ts"

export const addColumns: Migration = {
  id: 9_001,
  name: "add_columns",
  sql: `
lock table lanes, messages, outbox, webhook_deliveries in access exclusive mode;
alter table lanes add column region text not null default 'eu';
alter table messages add column topic text;
alter table outbox add column topic text;
alter table webhook_deliveries add column topic text;`,
  oldest: null,
}

export const addIndex: Migration = {
  id: 9_002,
  name: "add_index",
  sql: "create index concurrently messages_by_topic on messages (topic, id) where topic is not null;",
  oldest: null,
}

export const addRule: Migration = {
  id: 9_003,
  name: "add_rule",
  sql: `
lock table messages in access exclusive mode;
alter table messages add constraint messages_topic check (topic <> '') not valid;`,
  oldest: null,
}

/** What its `schema.sql` holds more than that of this version. */
const added = `
alter table lanes add column region text not null default 'eu';
alter table messages add column topic text, add constraint messages_topic check (topic <> '') not valid;
alter table outbox add column topic text;
alter table webhook_deliveries add column topic text;
create index messages_by_topic on messages (topic, id) where topic is not null;`

/** The tables with these migrations, as databases that exist come to them. */
export const withMigrations = (...more: ReadonlyArray<Migration>): Schema => ({
  sql: schema.sql,
  migrations: [...schema.migrations, ...more],
})

export const later: Schema = {
  ...withMigrations(addColumns, addIndex, addRule),
  sql: schema.sql + added,
}
