/**
 * Claiming callbacks: the longest due first, a few at once of each target, and a share of each
 * workspace. What is due beyond that is put aside (`parked`, and `crowded` where there is room at the
 * target) and brought back by the settlements that make room for it, so that no claim looks through
 * the backlog of targets that do not answer. What is brought back for its workspace and finds its
 * target full leaves its place to the next one.
 *
 * Locks: claims, settlements and deletions of workspaces take turns, so that nothing is put aside
 * while the room for it is being made. Those who write callbacks wait for none of them.
 */
import type {
  CallbackQuery,
  ClaimedCallback,
  EventId,
  StoreUnavailable,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { instant, integer } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"

/** A statement that waits for its turn with the callbacks, until the end of the transaction. */
export const takeTurn = "perform pg_advisory_xact_lock(5107734520671)"

export const claimCallbacks = sqlFunction(
  "claim_callbacks",
  `(
    p_now timestamptz,
    p_lease_until timestamptz,
    p_limit integer,
    p_per_target integer,
    p_per_workspace integer
  )
  returns table (
    id bigint, lease bigint, event_id text, workspace_id bigint, url text, body text,
    attempt integer, stored_salt text
  )
  language plpgsql
  as $function$
  #variable_conflict use_column
  declare
    v_claimed bigint[] := '{}';
    v_taken bigint[];
    v_workspaces bigint[];
    v_parked bigint;
    v_returned bigint;
  begin
    ${takeTurn};

    loop
      with due as materialized (
        -- Index callbacks_due.
        select c.id, c.workspace_id, c.target, coalesce(c.lease_until, c.due_at) as moment
        from callbacks c
        where coalesce(c.lease_until, c.due_at) <= p_now
          and not c.parked
        order by coalesce(c.lease_until, c.due_at), c.id
        limit p_limit - cardinality(v_claimed)
      ),
      crowd as materialized (
        -- Index callbacks_in_flight.
        select workspace.id, (
          select count(*)
          from callbacks c
          where c.workspace_id = workspace.id
            and c.lease_until > p_now
        ) as count
        from (select distinct due.workspace_id as id from due) workspace
      ),
      targeted as (
        select
          due.id, due.workspace_id, due.moment,
          busy.count + row_number() over (
            partition by due.workspace_id, due.target
            order by due.moment, due.id
          ) <= p_per_target as has_room
        from due
        cross join lateral (
          -- Index callbacks_in_flight. Asked for each callback: a list of targets would have to be
          -- joined with all that is due.
          select count(*) as count
          from callbacks c
          where c.workspace_id = due.workspace_id
            and c.target = due.target
            and c.lease_until > p_now
        ) busy
      ),
      judged as (
        select
          targeted.id, targeted.workspace_id, targeted.moment, targeted.has_room,
          targeted.has_room and crowd.count + row_number() over (
            partition by targeted.workspace_id, targeted.has_room
            order by targeted.moment, targeted.id
          ) <= p_per_workspace as is_taken
        from targeted
        join crowd on crowd.id = targeted.workspace_id
      ),
      moved as (
        update callbacks c
        set lease = case when judged.is_taken then c.lease + 1 else c.lease end,
          lease_until = case when judged.is_taken then p_lease_until else c.lease_until end,
          parked = not judged.is_taken,
          crowded = judged.has_room and not judged.is_taken
        from judged
        where c.id = judged.id
        returning c.id, c.workspace_id, judged.moment, judged.is_taken
      )
      select
        array_agg(moved.id order by moved.moment, moved.id) filter (where moved.is_taken),
        array_agg(distinct moved.workspace_id),
        count(*) filter (where not moved.is_taken)
      into v_taken, v_workspaces, v_parked
      from moved;
      v_claimed := v_claimed || v_taken;

      v_returned := 0;
      if exists (select from callbacks c where c.parked and c.crowded) then
        with returned as (
          update callbacks c
          set parked = false,
            crowded = false
          from unnest(v_workspaces) workspace (id)
          cross join lateral (
            -- Index callbacks_crowded.
            select p.id
            from callbacks p
            where p.workspace_id = workspace.id
              and p.parked
              and p.crowded
            order by p.due_at, p.id
            limit greatest(0, p_per_workspace - (
              select count(*)
              from callbacks held
              where held.workspace_id = workspace.id
                and held.lease_until > p_now
            ))
          ) longest
          where c.id = longest.id
          returning c.id
        )
        select count(*)
        into v_returned
        from returned;
      end if;
      exit when v_parked = 0 and v_returned = 0;
    end loop;

    return query
    select
      c.id, c.lease, c.event_id, c.workspace_id, c.url, c.body, c.attempts + 1, w.callback_salt
    from unnest(v_claimed) with ordinality claimed (id, place)
    join callbacks c on c.id = claimed.id
    join workspaces w on w.id = c.workspace_id
    order by claimed.place;
  end
  $function$`,
)

interface ClaimedRow {
  readonly id: bigint
  readonly lease: bigint
  readonly event_id: string
  readonly workspace_id: bigint
  readonly url: string
  readonly body: string
  readonly attempt: number
  readonly stored_salt: string | null
}

const statement = `select * from ${claimCallbacks.name}($1, $2, $3, $4, $5)`

export const claimDue =
  (database: DatabaseService) =>
  (query: CallbackQuery): Effect.Effect<ReadonlyArray<ClaimedCallback>, StoreUnavailable> =>
    Effect.map(
      database.query<ClaimedRow>("callback.claim", statement, [
        instant(query.now),
        instant(query.leaseUntil),
        integer(query.limit),
        integer(query.perTarget),
        integer(query.perWorkspace),
      ]),
      (rows) => rows.map(toClaimed),
    )

const toClaimed = (row: ClaimedRow): ClaimedCallback => ({
  id: Number(row.id),
  lease: Number(row.lease),
  eventId: row.event_id as EventId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  url: row.url,
  body: row.body,
  attempt: row.attempt,
  storedSalt: row.stored_salt,
})
