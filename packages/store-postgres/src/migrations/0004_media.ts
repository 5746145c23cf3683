/**
 * The media directory: a file's record now also says whether the file is in the directory yet or
 * still, and what a workspace's files take together is kept exactly, in a row that is locked for
 * nothing else. Files that were there before are in the directory.
 */
import type { Migration } from "./migrate.ts"

export const media: Migration = {
  id: 4,
  name: "media",
  sql: `
alter table media_files
  -- reserved, kept, deleted, or discarded: given up before it was in the directory.
  add column state text not null default 'kept',
  -- Whether there may be bytes.
  add column has_bytes boolean not null default true;
-- Serves the list, newest first.
create index media_files_kept on media_files (workspace_id, mode, id desc) where state = 'kept';
-- These serve the sweep: reservations that were given up,
create index media_files_reserved on media_files (created_at) where state = 'reserved';
-- files whose bytes are left over,
create index media_files_left_over on media_files (id)
  where state in ('deleted', 'discarded') and has_bytes;
-- those that are only remembered,
create index media_files_remembered on media_files (created_at)
  where state in ('deleted', 'discarded') and not has_bytes;
-- and workspaces whose files are to go with them.
create index workspaces_deleted on workspaces (id) where deleted_at is not null;

create table media_usage (
  workspace_id bigint primary key references workspaces,
  -- What its files of both modes take, reserved ones included.
  bytes bigint not null
) with (fillfactor = 50);

insert into media_usage (workspace_id, bytes)
select m.workspace_id, sum(m.size)::bigint
from media_files m
group by m.workspace_id;
`,
}
