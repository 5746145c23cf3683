/**
 * Claiming checks that are due, the longest due first, each with its next phones. Live ones wait
 * while their number is not connected; once it is removed anybody may take them, to end them.
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
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigintsOrNull, instant, integer } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"

/** Whether somebody could take up the check of that alias now, by the lane of its number. */
export const canBeAsked = (check: string, lane: string): string =>
  `(${check}.mode = 'test' or ${lane}.connected or ${lane}.removed_at is not null)`

export const claimChecks = sqlFunction(
  "claim_number_checks",
  `(
    p_now timestamptz, p_lease_until timestamptz, p_limit integer, p_chunk integer, p_owned bigint[]
  )
  returns table (
    id bigint, mode text, number_id bigint, removed boolean, lease bigint, tries integer,
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
      select c.id
      from number_checks c
      join lanes l on l.number_id = c.number_id
      where c.next_due <= p_now
        and ${canBeAsked("c", "l")}
        and (
          c.mode = 'test'
          or l.removed_at is not null
          or p_owned is null
          or c.number_id = any (p_owned)
        )
      order by c.next_due, c.id
      limit p_limit
      for no key update of c skip locked
    );

    return query
    with claimed as (
      update number_checks c
      set status = 'processing',
        lease = c.lease + 1,
        lease_until = p_lease_until,
        next_due = p_lease_until
      where c.id = any (v_checks)
      returning c.id, c.mode, c.number_id, c.lease, c.tries
    )
    select
      claimed.id, claimed.mode, claimed.number_id, l.removed_at is not null, claimed.lease,
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
  readonly mode: string
  readonly number_id: bigint
  readonly removed: boolean
  readonly lease: bigint
  readonly tries: number
  readonly phones: ReadonlyArray<string>
}

const statement = `select c.* from ${claimChecks.name}($1, $2, $3, $4, $5) c`

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
      ]),
      (rows) => rows.map(toClaimed),
    )

const toClaimed = (row: ClaimedRow): ClaimedCheck => ({
  id: Number(row.id) as NumberCheckId,
  mode: row.mode as Mode,
  numberId: Number(row.number_id) as NumberId,
  removed: row.removed,
  lease: Number(row.lease),
  tries: row.tries,
  phones: row.phones as ReadonlyArray<Phone>,
})
