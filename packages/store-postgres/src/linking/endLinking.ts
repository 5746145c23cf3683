/**
 * Ending an attempt at linking together with the status of its number.
 *
 * Locks: the number's lane first, as before all changes of its status; then, where a phone was revealed,
 * the workspace, so that of two numbers that reveal the same one only the first keeps it; then the
 * attempt, which may have ended meanwhile.
 */
import type { EndReports } from "@messaging-service/core"
import { controlLane } from "../queue/controlLane.ts"
import { nextDueAfter } from "../queue/lane.ts"
import { callbackParameters, connectionParameters, report } from "../webhook/queueDeliveries.ts"
import { instant, text } from "../database/Fields.ts"
import { call, joined, sqlFunction, taking } from "../database/Statement.ts"

const reportTo = (event: string): string => report("v_number", event)

/** Locks the attempt's lane and tells its number; null when there is no such attempt. */
const lockedNumber = `
    select l.number_id
    into v_number
    from lanes l
    where l.number_id = (select a.number_id from linking_attempts a where a.id = p_attempt)
    for no key update;`

/** The core's `phoneWithoutLink`; `before` as the number's attempt keeps it, null without one. */
export const phoneWithoutLink = (number: string, before: string): string => `case
        when ${before} is null then ${number}.phone
        else nullif(${before}, '')
      end`

/** The core's `phoneWithStatus`. */
export const phoneWithStatus = (
  number: string,
  before: string,
  status: string,
  phone: string,
): string => `case
        when ${phone} is not null then ${phone}
        when ${status} = 'disconnected' then ${phoneWithoutLink(number, before)}
        else ${number}.phone
      end`

/** The core's `hasEnded`. */
export const hasEnded = (attempt: string, now: string): string => `${attempt}.ends_at <= ${now}`

/** The core's `hasPhone`; null where the other number has none. */
export const hasPhone = (other: string, before: string, linked: string, phone: string): string =>
  `${other}.id <> ${linked}.id
        and ${other}.platform = ${linked}.platform
        and ${other}.mode = ${linked}.mode
        and ${phone} = ${phoneWithoutLink(other, before)}`

interface Reported {
  readonly reports: EndReports | null
}

/** The number that was linked, or that could not be; null when the attempt is over. */
export const finishLinking = sqlFunction(
  "finish_linking",
  joined(
    taking({ attempt: text, phone: text, now: instant }),
    connectionParameters("connected", ({ reports }: Reported) => reports?.connected ?? null),
    connectionParameters("disconnected", ({ reports }: Reported) => reports?.disconnected ?? null),
  ),
  "bigint",
)`
  declare
    v_number bigint;
    -- As the attempt keeps it.
    v_before text;
    v_held boolean;
  begin
    ${lockedNumber.trimStart()}

    perform
    from workspaces w
    where w.id = (select n.workspace_id from numbers n where n.id = v_number)
    for no key update;

    delete from linking_attempts a
    where a.id = p_attempt
      and not ${hasEnded("a", "p_now")}
    returning a.phone_before
    into v_before;
    if not found then
      return null;
    end if;

    -- Index numbers_by_workspace.
    v_held := exists (
      select
      from numbers n
      join numbers other on other.workspace_id = n.workspace_id
      left join linking_attempts a on a.number_id = other.id
      where n.id = v_number
        and other.removed_at is null
        and ${hasPhone("other", "a.phone_before", "n", "p_phone")}
    );
    update lanes l
    set connected = not v_held and l.removed_at is null,
      next_due = ${nextDueAfter.opened("l", "not v_held", "p_now")}
    where l.number_id = v_number;
    update numbers n
    set status = case when v_held then 'disconnected' else 'connected' end,
      status_since = p_now,
      status_reason = case when v_held then 'not_linked' end,
      phone = case when v_held then nullif(${phoneWithoutLink("n", "v_before")}, p_phone) else p_phone end
    where n.id = v_number;
    if v_held then
      ${reportTo("disconnected")}
    else
      perform ${controlLane.name}(v_number, p_now, false, true, null, null, null);
      ${reportTo("connected")}
    end if;
    return v_number;
  end`

export const finish = call("linking.linked", finishLinking)

/** False when the attempt is over already. */
export const giveUpLinking = sqlFunction(
  "give_up_linking",
  joined(taking({ attempt: text, at: instant, reason: text }), callbackParameters),
  "boolean",
)`
  declare
    v_number bigint;
    -- As the attempt keeps it.
    v_before text;
  begin
    ${lockedNumber.trimStart()}

    delete from linking_attempts a
    where a.id = p_attempt
    returning a.phone_before
    into v_before;
    if not found then
      return false;
    end if;

    update numbers n
    set status = 'disconnected',
      status_since = p_at,
      status_reason = p_reason,
      phone = ${phoneWithoutLink("n", "v_before")}
    where n.id = v_number;
    ${reportTo("new")}
    return true;
  end`

export const giveUp = call("linking.giveUp", giveUpLinking)
