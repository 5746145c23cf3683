/**
 * Claiming callbacks: the longest due first, a few at once of each target. What is due beyond that is
 * put aside (`parked`) and brought back by the settlements that make room for it, so that nobody
 * looks through the backlog of a target that does not answer.
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
    p_per_target integer
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
    v_parked bigint;
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
      judged as (
        select
          due.id, due.moment,
          busy.count + row_number() over (
            partition by due.workspace_id, due.target
            order by due.moment, due.id
          ) <= p_per_target as is_taken
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
      moved as (
        update callbacks c
        set lease = case when judged.is_taken then c.lease + 1 else c.lease end,
          lease_until = case when judged.is_taken then p_lease_until else c.lease_until end,
          parked = not judged.is_taken
        from judged
        where c.id = judged.id
        returning c.id, judged.moment, judged.is_taken
      )
      select
        array_agg(moved.id order by moved.moment, moved.id) filter (where moved.is_taken),
        count(*) filter (where not moved.is_taken)
      into v_taken, v_parked
      from moved;
      v_claimed := v_claimed || v_taken;
      exit when v_parked = 0;
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

const statement = `select * from ${claimCallbacks.name}($1, $2, $3, $4)`

export const claimDue =
  (database: DatabaseService) =>
  (query: CallbackQuery): Effect.Effect<ReadonlyArray<ClaimedCallback>, StoreUnavailable> =>
    Effect.map(
      database.query<ClaimedRow>("callback.claim", statement, [
        instant(query.now),
        instant(query.leaseUntil),
        integer(query.limit),
        integer(query.perTarget),
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
