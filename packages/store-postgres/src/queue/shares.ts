/** The fair share of workspaces in what a claim takes: the core's `takeShares` in SQL. */
import type { Shares } from "@messaging-service/core"
import { bigints, columnsOf, integer, integers } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"

/** How many of each workspace are held and may be, as functions are told. */
export const sharesFields = {
  perWorkspace: { p_per_workspace: integer((shares) => shares.perWorkspace) },
  held: {
    p_workspaces: bigints(({ held }) => [...held.keys()]),
    p_held: integers(({ held }) => [...held.values()]),
  },
} satisfies FieldsOf<Shares>

export const sharesColumns = columnsOf(sharesFields)

/** How many of that workspace are held; `mark` stands before the names of parameters. */
export const heldOf = (workspace: string, mark = ""): string =>
  `coalesce((${mark}p_held)[array_position(${mark}p_workspaces, ${workspace})], 0)`

/**
 * The core's `takeShares`, of all candidates in their order: whether one is among those that its
 * workspace may still have.
 */
export const fitsShare = (workspace: string, order: string, mark = ""): string =>
  `${heldOf(workspace, mark)}
            + row_number() over (partition by ${workspace} order by ${order})
            <= ${mark}p_per_workspace`

/** The variables that `takeInShares` works with; the lanes that it took are in `v_lanes`. */
export const shareVariables = `v_lanes bigint[] := '{}';
    v_found bigint[];
    -- Workspaces of which no more lanes may be taken, and those of them that were found to be.
    v_crowded bigint[] := '{}';
    v_refused bigint[];`

/**
 * Takes due lanes `l` of that table into `v_lanes`, locked, the longest due first, `p_limit` at most and
 * of each workspace no more than it may still have.
 */
export const takeInShares = ({
  due,
  id,
  isTakeable,
  table,
}: {
  readonly table: string
  readonly id: string
  readonly due: string
  readonly isTakeable: string
}): string => `if cardinality(p_workspaces) > 0 then
      v_crowded := array(
        select workspace.id
        from unnest(p_workspaces, p_held) workspace (id, held)
        where workspace.held >= p_per_workspace
      );
    end if;
    loop
      v_found := v_lanes || array(
        select l.${id}
        from ${table} l
        where l.${due} <= p_now
          and ${isTakeable}
          and l.workspace_id <> all (v_crowded)
          and l.${id} <> all (v_lanes)
        order by l.${due}
        limit p_limit - cardinality(v_lanes)
        for no key update skip locked
      );
      exit when v_found = v_lanes;
      if cardinality(p_workspaces) = 0 and p_limit <= p_per_workspace then
        -- No workspace can get more than its share.
        v_lanes := v_found;
        exit;
      end if;
      -- Each workspace gets what it still may have; while one got less than it has, others may have
      -- more.
      select
        coalesce(array_agg(judged.id order by judged.place) filter (where judged.fits), '{}'),
        array_agg(distinct judged.workspace_id) filter (where not judged.fits)
      into v_lanes, v_refused
      from (
        select
          found.id, found.place, l.workspace_id,
          ${fitsShare("l.workspace_id", "found.place")} as fits
        from unnest(v_found) with ordinality found (id, place)
        join ${table} l on l.${id} = found.id
      ) judged;
      exit when v_refused is null;
      v_crowded := v_crowded || v_refused;
    end loop;`
