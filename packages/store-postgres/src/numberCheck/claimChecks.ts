/** What workers do with number checks: claim the next phones of each, and settle the answers. */
import type { CheckClaimQuery, CheckSettlement, ClaimedCheck } from "@messaging-service/core"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  boolean,
  columnsOf,
  declared,
  decoded,
  instant,
  integer,
  text,
  texts,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { call, given, single, sqlFunction, statement, taking } from "../database/Statement.ts"
import { holdsLease, isOpen, isOwned, ownedFields, ownedParameters } from "../queue/lane.ts"
import { fitsShare, sharesFields } from "../queue/shares.ts"

/** The core's `canBeAsked`, by the lane of the check's number. */
export const canBeAsked = (check: string, lane: string): string =>
  `(${check}.mode = 'test' or ${isOpen(lane)})`

/** The core's `isAskedBy`. */
export const isAskedBy = (
  check: string,
  lane: string,
  owned: Parameters<typeof isOwned>[1],
): string => `(
  ${check}.mode = 'test'
  or ${lane}.removed_at is not null
  or ${isOwned(`${check}.number_id`, owned)}
)`

/** How many results `answered` there are, and of which kinds: as `checkAfter` counts them. */
export const countAnswers = (answered: string): string => `count(*),
      count(*) filter (where ${answered}.status = 'registered'),
      count(*) filter (where ${answered}.status = 'not_registered')`

/** The core's `checkAfter`: what each column is once so many results were answered. */
export const checkAfter = (
  check: string,
  counts: Readonly<Record<"checked" | "registered" | "notRegistered", string>>,
  now: string,
) => {
  const checked = `${check}.checked + ${counts.checked}`
  return {
    checked,
    registered: `${check}.registered + ${counts.registered}`,
    not_registered: `${check}.not_registered + ${counts.notRegistered}`,
    status: `case when ${checked} = ${check}.total then 'completed' else ${check}.status end`,
    completed_at: `case when ${checked} = ${check}.total then ${now} end`,
  }
}

const answeredCheck = checkAfter(
  "c",
  { checked: "v_checked", registered: "v_registered", notRegistered: "v_not_registered" },
  "p_now",
)

const claimParameters = single(
  columnsOf({
    now: { p_now: instant((query) => query.now) },
    leaseUntil: { p_lease_until: instant((query) => query.leaseUntil) },
    limit: { p_limit: integer((query) => query.limit) },
    chunk: { p_chunk: integer((query) => query.chunk) },
    ...ownedFields,
    ...sharesFields,
  } satisfies FieldsOf<CheckClaimQuery>),
)

const claimedFields = {
  id: { id: bigint((check) => check.id) },
  workspaceId: { workspace_id: bigint((check) => check.workspaceId) },
  mode: { mode: text((check) => check.mode) },
  numberId: { number_id: bigint((check) => check.numberId) },
  removed: { removed: boolean((check) => check.removed) },
  lease: { lease: bigint((check) => check.lease) },
  tries: { tries: integer((check) => check.tries) },
  phones: { phones: texts((check) => check.phones) },
} satisfies FieldsOf<ClaimedCheck>

const toClaimed = decoded<ClaimedCheck>(claimedFields)

/**
 * Claims checks that are due, the longest due first, of each workspace its share of the worker at
 * most, each with its next phones. Live ones wait while their number is not connected; once it is
 * removed any worker may take them, to end them.
 *
 * Locks: the checks, passing over those that others hold, so that workers never wait for one another.
 */
export const claimChecks = sqlFunction(
  "claim_number_checks",
  claimParameters,
  `table (${declared(columnsOf(claimedFields))})`,
)`
  declare
    v_checks bigint[];
  begin
    -- Index number_checks_due.
    v_checks := array(
      select due.id
      from (
        select
          c.id, c.next_due,
          ${fitsShare("c.workspace_id", "c.next_due, c.id")} as fits
        from number_checks c
        join lanes l on l.number_id = c.number_id
        where c.next_due <= p_now
          and ${canBeAsked("c", "l")}
          and ${isAskedBy("c", "l", ownedParameters)}
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
  end`

const claimStatement = call("numberCheck.claim", claimChecks)

export const claim = (database: DatabaseService) => (query: CheckClaimQuery) =>
  claimStatement.all(database, query, toClaimed)

/**
 * Answers go to every pending result of their phone; with the last one the check is completed. False
 * when the lease is no longer the check's. Locks: the check, then its results, which change
 * only under the check's lock.
 */
export const answerCheck = sqlFunction(
  "answer_number_check",
  taking({ id: bigint, lease: bigint, phones: texts, statuses: texts, now: instant }),
  "boolean",
)`
  declare
    v_checked integer;
    v_registered integer;
    v_not_registered integer;
  begin
    perform
    from number_checks c
    where c.id = p_id
      and ${holdsLease("c", "p_lease")}
    for no key update;
    if not found then
      return false;
    end if;

    with answered as (
      update number_check_results r
      set status = answer.status,
        checked_at = p_now
      from unnest(p_phones, p_statuses) answer (phone, status)
      where r.check_id = p_id
        and r.status = 'pending'
        and r.phone = answer.phone
      returning r.status
    )
    select ${countAnswers("answered")}
    into v_checked, v_registered, v_not_registered
    from answered;

    update number_checks c
    set ${Object.entries(answeredCheck)
      .map(([column, value]) => `${column} = ${value}`)
      .join(",\n      ")},
      next_due = case when c.checked + v_checked < c.total then p_now end,
      lease_until = null,
      tries = 0
    where c.id = p_id;
    return true;
  end`

const answer = call("numberCheck.answer", answerCheck)

const again = statement(
  "numberCheck.again",
  given({ id: bigint, lease: bigint, due: instant, tries: integer }),
)`
update number_checks c
set lease_until = null,
  next_due = $due,
  tries = c.tries + $tries
where c.id = $id
  and ${holdsLease("c", "$lease")}
returning true`

/** Settles a claimed check, if its lease is still the check's: answers, or another try. */
export const settle = (database: DatabaseService) => (settlement: CheckSettlement, now: number) => {
  const { id, lease } = settlement
  return settlement._tag === "Answered"
    ? answer.holds(database, {
        id,
        lease,
        phones: settlement.answers.map(({ phone }) => phone),
        statuses: settlement.answers.map(({ status }) => status),
        now,
      })
    : again.holds(database, {
        id,
        lease,
        due: settlement.notBefore ?? now,
        tries: settlement.tried ? 1 : 0,
      })
}
