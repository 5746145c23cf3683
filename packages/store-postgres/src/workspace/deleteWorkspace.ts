/**
 * Deleting a workspace: it is marked, its keys no longer admit, its webhook endpoints and its numbers
 * are gone and their lanes close, and what was to be called for it is dropped.
 *
 * Locks: its lanes first, by id, like everybody. The workspace's row is then locked against the
 * birth of further numbers, and lanes born in between are closed after all.
 */
import { sqlFunction } from "../database/SqlFunction.ts"
import { removeLanes } from "../number/removeLanes.ts"
import { removeEndpoints } from "../webhook/endEndpoints.ts"

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
