/** Workspaces and their plans. */
import { WorkspaceStore } from "@messaging-service/core/ports"
import type { Admits, NewWorkspace } from "@messaging-service/core/ports"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import {
  bigint,
  boolean,
  columnsOf,
  idBefore,
  instant,
  integer,
  listed,
  without,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { sqlFunction } from "../database/SqlFunction.ts"
import { given, joined, on, single, statement } from "../database/Statement.ts"
import { removeLanes } from "../number/PostgresNumbers.ts"
import { removeEndpoints } from "../webhook/changeEndpoints.ts"
import { toWorkspace, workspaceColumns, writtenColumns } from "./workspaceRow.ts"
import type { WorkspaceRow } from "./workspaceRow.ts"

interface Written {
  readonly workspace: NewWorkspace
  readonly admits: Admits
}

const admitsColumns = columnsOf({
  v2: { admits: boolean((admits) => admits.v2) },
  v1: { admits_v1: boolean((admits) => admits.v1) },
} satisfies FieldsOf<Admits>)

const written = joined(
  on((change: Written) => change.workspace, single(writtenColumns)),
  on((change: Written) => change.admits, single(admitsColumns)),
)

const insertWorkspace = statement("workspace.insert", written)`
insert into workspaces (${written.names})
values (${written.placeholders})
returning ${workspaceColumns("workspaces")}`

const workspaceById = `
select ${workspaceColumns("w")}
from workspaces w
where w.id = $id
  and w.deleted_at is null`

const getWorkspace = statement("workspace.get", given({ id: bigint }))(workspaceById)

const lockWorkspace = statement(
  "workspace.lock",
  given({ id: bigint }),
)`${workspaceById} for no key update`

const listWorkspaces = statement("workspace.list", given({ before: idBefore, limit: integer }))`
select ${workspaceColumns("w")}
from workspaces w
where w.deleted_at is null
  and w.id < $before
order by w.id desc
limit $limit`

const changed = { ...without(writtenColumns, "created_at"), ...admitsColumns }

const updateWorkspace = statement(
  "workspace.update",
  joined<Written & { readonly id: number }>(given({ id: bigint }), written),
)`
update workspaces w
set ${listed(changed, (name) => `${name} = $${name}`)}
where w.id = $id`

/**
 * Deleting a workspace: it is marked, its keys no longer admit, its webhook endpoints and its numbers
 * are gone and their lanes close, and what was to be called for it is dropped.
 *
 * Locks: its lanes first, by id as everywhere. The workspace's row is then locked against the
 * birth of further numbers, and lanes born in between are closed after all.
 */
export const deleteWorkspace = sqlFunction(
  "delete_workspace",
  `(p_workspace bigint, p_now timestamptz)
  returns boolean
  language plpgsql
  as $function$
  begin
    perform
    from lanes l
    where l.number_id in (select n.id from numbers n where n.workspace_id = p_workspace)
    order by l.number_id
    for no key update;

    perform
    from workspaces w
    where w.id = p_workspace
      and w.deleted_at is null
    for update;
    if not found then
      return false;
    end if;

    update workspaces w
    set deleted_at = p_now,
      admits = false,
      admits_v1 = false
    where w.id = p_workspace;

    perform
    from webhook_lanes l
    where l.workspace_id = p_workspace
    order by l.endpoint_id
    for no key update;
    perform ${removeEndpoints.name}(
      array(
        select e.id
        from webhook_endpoints e
        where e.workspace_id = p_workspace
          and e.removed_at is null
      ),
      p_now
    );
    perform ${removeLanes.name}(
      array(select n.id from numbers n where n.workspace_id = p_workspace and n.removed_at is null),
      p_now
    );
    update numbers n
    set removed_at = p_now
    where n.workspace_id = p_workspace
      and n.removed_at is null;

    -- No lane of the workspace is open any more, so that no further one comes after this.
    delete from webhook_deliveries d
    where d.workspace_id = p_workspace;
    delete from webhook_lanes l
    where l.workspace_id = p_workspace;
    -- What the version before wrote, whose claims and settlements take turns.
    perform pg_advisory_xact_lock(5107734520671);
    delete from callbacks c
    where c.workspace_id = p_workspace;
    return true;
  end
  $function$`,
)

const deleteStatement = statement(
  "workspace.delete",
  given({ id: bigint, now: instant }),
)`select ${deleteWorkspace.name}($id, $now) as deleted`

export const layerWorkspaces = Layer.effect(
  WorkspaceStore,
  Effect.gen(function* () {
    const database = yield* Database
    return WorkspaceStore.of({
      insert: (workspace, admits) =>
        Effect.flatMap(
          insertWorkspace.first(database, { workspace, admits }, toWorkspace),
          (inserted) =>
            inserted === null
              ? Effect.die(new Error("an insert returned nothing"))
              : Effect.succeed(inserted),
        ),
      get: (id) => getWorkspace.first(database, { id }, toWorkspace),
      list: (page) => listWorkspaces.page(database, "workspaces", page, toWorkspace),
      update: (id, decide) =>
        database.transaction(
          "workspace.update",
          Effect.fnUntraced(function* (run) {
            // Acceptance takes allowance under the same lock: what is read here is what is there.
            const [row] = yield* run<WorkspaceRow>(lockWorkspace.text, lockWorkspace.bind({ id }))
            if (row === undefined) return null
            const current = toWorkspace(row)
            const { admits, change } = decide(current)
            const workspace = { ...current, ...change }
            yield* run(updateWorkspace.text, updateWorkspace.bind({ id, workspace, admits }))
            return workspace
          }),
        ),
      delete: (id, now) =>
        Effect.map(
          deleteStatement.rows<{ readonly deleted: boolean }>(database, { id, now }),
          ([row]) => row?.deleted ?? false,
        ),
      isEmpty: Effect.map(
        database.query("workspace.isEmpty", "select from workspaces limit 1"),
        (rows) => rows.length === 0,
      ),
    })
  }),
)
