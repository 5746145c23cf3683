/**
 * Claiming checks that are due, the longest due first, of each workspace its share of the worker at
 * most, each with its next phones. Live ones wait while their number is not connected; once it is
 * removed any worker may take them, to end them.
 *
 * Locks: the checks, passing over those that others hold, so that workers never wait for one another.
 */
import type {
  CheckClaimQuery,
  ClaimedCheck,
  Mode,
  NumberCheckId,
  NumberId,
  Phone,
  StoreUnavailable,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, bigintsOrNull, instant, integer, integers } from "../database/parameters.ts"
import { placeholders, sqlFunction } from "../database/SqlFunction.ts"
import { fitsShare, isClaimable, sharesParameters } from "../queue/lane.ts"

/** The core's `canBeAsked`, by the lane of the check's number. */
export const canBeAsked = (check: string, lane: string): string =>
  `(${check}.mode = 'test' or ${isClaimable(lane)})`

/** The core's `isAskedBy`; `owned` is null for all numbers. */
export const isAskedBy = (check: string, lane: string, owned: string): string => `(
  ${check}.mode = 'test'
  or ${lane}.removed_at is not null
  or ${owned} is null
  or ${check}.number_id = any (${owned})
)`

export const claimChecks = sqlFunction(
  "claim_number_checks",
  `(
    p_now timestamptz, p_lease_until timestamptz, p_limit integer, p_chunk integer, p_owned bigint[],
    p_per_workspace integer, p_workspaces bigint[], p_held integer[]
  )
  returns table (
    id bigint, workspace_id bigint, mode text, number_id bigint, removed boolean, lease bigint, tries integer,
    phones text[]
  )
  language plpgsql
  as $function$
  #variable_conflict use_column
  declare
    v_checks bigint[];
  begin
    -- Index number_checks_due.
    v_checks := array(
      select due.id
      from (
        select
          c.id, c.next_due,
          ${fitsShare("c.workspace_id", "c.next_due, c.id", sharesParameters)} as fits
        from number_checks c
        join lanes l on l.number_id = c.number_id
        where c.next_due <= p_now
          and ${canBeAsked("c", "l")}
          and ${isAskedBy("c", "l", "p_owned")}
      ) due
      where due.fits
      order by due.next_due, due.id
      limit p_limit
    );
    -- Those that another worker has taken meanwhile are due no more.
    v_checks := array(
      select c.id
      from number_checks c
      where c.id = any (v_checks)
        and c.next_due <= p_now
      order by c.next_due, c.id
      for no key update skip locked
    );

    return query
    with claimed as (
      update number_checks c
      set status = 'processing',
        lease = c.lease + 1,
        lease_until = p_lease_until,
        next_due = p_lease_until
      where c.id = any (v_checks)
      returning c.id, c.workspace_id, c.mode, c.number_id, c.lease, c.tries
    )
    select
      claimed.id, claimed.workspace_id, claimed.mode, claimed.number_id, l.removed_at is not null, claimed.lease,
      claimed.tries,
      -- Index number_check_results_by_check.
      array(
        select r.phone
        from number_check_results r
        where r.check_id = claimed.id
          and r.status = 'pending'
        group by r.phone
        order by min(r.id)
        limit p_chunk
      )
    from claimed
    join lanes l on l.number_id = claimed.number_id
    order by array_position(v_checks, claimed.id);
  end
  $function$`,
)

interface ClaimedRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly mode: string
  readonly number_id: bigint
  readonly removed: boolean
  readonly lease: bigint
  readonly tries: number
  readonly phones: ReadonlyArray<string>
}

const statement = `select c.* from ${claimChecks.name}(${placeholders(8)}) c`

export const claim =
  (database: DatabaseService) =>
  (query: CheckClaimQuery): Effect.Effect<ReadonlyArray<ClaimedCheck>, StoreUnavailable> =>
    Effect.map(
      database.query<ClaimedRow>("numberCheck.claim", statement, [
        instant(query.now),
        instant(query.leaseUntil),
        integer(query.limit),
        integer(query.chunk),
        bigintsOrNull(query.owned === "all" ? null : query.owned),
        integer(query.perWorkspace),
        bigints([...query.held.keys()]),
        integers([...query.held.values()]),
      ]),
      (rows) => rows.map(toClaimed),
    )

const toClaimed = (row: ClaimedRow): ClaimedCheck => ({
  id: Number(row.id) as NumberCheckId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as Mode,
  numberId: Number(row.number_id) as NumberId,
  removed: row.removed,
  lease: Number(row.lease),
  tries: row.tries,
  phones: row.phones as ReadonlyArray<Phone>,
})
