/**
 * Workers, and the shards of numbers that each has. A worker shows that it lives by its beat; when its
 * row goes, its shards are free.
 */
import type { Migration } from "./migrate.ts"

export const shards: Migration = {
  id: 20,
  name: "shards",
  sql: `
create table workers (
  id bigint generated always as identity primary key,
  name text not null,
  most bigint not null,
  beat bigint not null
);

create table number_shards (
  shard integer primary key,
  worker_id bigint references workers on delete set null,
  term bigint not null
);

create index number_shards_of_worker on number_shards (worker_id);

insert into number_shards (shard, term)
select shard, 0
from generate_series(0, 255) shard;
`,
}
