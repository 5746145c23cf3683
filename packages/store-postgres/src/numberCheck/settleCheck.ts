/**
 * Settling a claimed check, if its lease is still the check's: answers, or another try.
 *
 * Locks: the check, then its results, which change only under the check's lock.
 */
import type { CheckSettlement, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant, integer, texts } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"

/** Answers go to every pending result of their phone; with the last one the check is completed. */
export const answerCheck = sqlFunction(
  "answer_number_check",
  `(p_id bigint, p_lease bigint, p_phones text[], p_statuses text[], p_now timestamptz)
  returns boolean
  language plpgsql
  as $function$
  declare
    v_checked integer;
    v_registered integer;
    v_not_registered integer;
  begin
    perform
    from number_checks c
    where c.id = p_id
      and c.lease = p_lease
      and c.lease_until is not null
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
    select
      count(*),
      count(*) filter (where answered.status = 'registered'),
      count(*) filter (where answered.status = 'not_registered')
    into v_checked, v_registered, v_not_registered
    from answered;

    update number_checks c
    set checked = c.checked + v_checked,
      registered = c.registered + v_registered,
      not_registered = c.not_registered + v_not_registered,
      status = case when c.checked + v_checked = c.total then 'completed' else c.status end,
      completed_at = case when c.checked + v_checked = c.total then p_now end,
      next_due = case when c.checked + v_checked < c.total then p_now end,
      lease_until = null,
      tries = 0
    where c.id = p_id;
    return true;
  end
  $function$`,
)

const answerStatement = `select ${answerCheck.name}($1, $2, $3, $4, $5) as settled`

const againStatement = `
update number_checks c
set lease_until = null,
  next_due = $3,
  tries = c.tries + $4
where c.id = $1
  and c.lease = $2
  and c.lease_until is not null
returning true as settled`

export const settle =
  (database: DatabaseService) =>
  (settlement: CheckSettlement, now: number): Effect.Effect<boolean, StoreUnavailable> => {
    const { id, lease } = settlement
    const settled =
      settlement._tag === "Answered"
        ? database.query<{ readonly settled: boolean }>("numberCheck.answer", answerStatement, [
            bigint(id),
            bigint(lease),
            texts(settlement.answers.map((answer) => answer.phone)),
            texts(settlement.answers.map((answer) => answer.status)),
            instant(now),
          ])
        : database.query<{ readonly settled: boolean }>("numberCheck.again", againStatement, [
            bigint(id),
            bigint(lease),
            instant(settlement.notBefore ?? now),
            integer(settlement.tried ? 1 : 0),
          ])
    return Effect.map(settled, ([row]) => row?.settled ?? false)
  }
