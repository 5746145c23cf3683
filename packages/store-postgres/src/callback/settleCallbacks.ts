/**
 * Settling callbacks: the end or the next turn of each, and the return of what was put aside for want
 * of the room that they leave. A result whose lease is not the callback's any more is passed over.
 *
 * Locks: see `claimCallbacks.ts`.
 */
import type { CallbackResult, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, instants } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"
import { takeTurn } from "./claimCallbacks.ts"

/** Every array holds one element for each result. */
export const settleCallbacks = sqlFunction(
  "settle_callbacks",
  `(p_callback bigint[], p_lease bigint[], p_next_attempt_at timestamptz[])
  returns void
  language plpgsql
  as $function$
  declare
    -- Of each callback that was settled.
    v_workspaces bigint[];
    v_targets text[];
  begin
    ${takeTurn};

    with held as materialized (
      select c.id, c.workspace_id, c.target, r.next_attempt_at
      from unnest(p_callback, p_lease, p_next_attempt_at) r (callback_id, lease, next_attempt_at)
      join callbacks c on c.id = r.callback_id
      where c.lease = r.lease
        and c.lease_until is not null
    ),
    ended as (
      delete from callbacks c
      using held
      where c.id = held.id
        and held.next_attempt_at is null
    ),
    again as (
      update callbacks c
      set attempts = c.attempts + 1,
        due_at = held.next_attempt_at,
        lease_until = null,
        parked = false,
        crowded = false
      from held
      where c.id = held.id
        and held.next_attempt_at is not null
    )
    select array_agg(held.workspace_id), array_agg(held.target)
    into v_workspaces, v_targets
    from held;

    -- Later statements: they see what is still put aside.
    update callbacks c
    set parked = false
    from (
      select freed.workspace_id, freed.target, count(*) as count
      from unnest(v_workspaces, v_targets) freed (workspace_id, target)
      group by freed.workspace_id, freed.target
    ) freed
    cross join lateral (
      -- Index callbacks_parked_at_target. A crowded one has the room at its target already.
      select p.id
      from callbacks p
      where p.workspace_id = freed.workspace_id
        and p.target = freed.target
        and p.parked
        and not p.crowded
      order by p.due_at, p.id
      limit freed.count
    ) longest
    where c.id = longest.id;

    update callbacks c
    set parked = false,
      crowded = false
    from (
      select freed.workspace_id, count(*) as count
      from unnest(v_workspaces) freed (workspace_id)
      group by freed.workspace_id
    ) freed
    cross join lateral (
      -- Index callbacks_crowded.
      select p.id
      from callbacks p
      where p.workspace_id = freed.workspace_id
        and p.parked
        and p.crowded
      order by p.due_at, p.id
      limit freed.count
    ) longest
    where c.id = longest.id;
  end
  $function$`,
)

const statement = `select ${settleCallbacks.name}($1, $2, $3)`

export const settleResults =
  (database: DatabaseService) =>
  (results: ReadonlyArray<CallbackResult>): Effect.Effect<void, StoreUnavailable> =>
    results.length === 0
      ? Effect.void
      : Effect.asVoid(
          database.query("callback.settle", statement, [
            bigints(results.map((result) => result.id)),
            bigints(results.map((result) => result.lease)),
            instants(results.map((result) => result.nextAttemptAt)),
          ]),
        )
