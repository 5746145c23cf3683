/**
 * Exact counts of a number's quota (see the core's `Quota.ts`). Both walk the index
 * `messages_planned`; whoever decides by them holds the lane's lock.
 */
import { sqlFunction } from "../database/SqlFunction.ts"

/** What counts: live messages that are not cancelled or expired, and were not refused. */
const counting = (alias: string) =>
  `${alias}.mode = 'live' and ${alias}.state not in ('cancelled', 'expired') and not ${alias}.refused`

/**
 * Messages planned in (p_at - p_window, p_at], and all that are planned after p_now - p_window,
 * whatever lies ahead included.
 */
export const countPlanned = sqlFunction(
  "count_planned",
  `(p_number bigint, p_at timestamptz, p_now timestamptz, p_window interval)
  returns table (planned integer, bound integer)
  language plpgsql
  as $function$
  begin
    return query
    select
      (count(*) filter (where m.due_at > p_at - p_window and m.due_at <= p_at))::integer,
      (count(*) filter (where m.due_at > p_now - p_window))::integer
    from messages m
    where m.number_id = p_number
      and ${counting("m")}
      and m.due_at > least(p_at, p_now) - p_window;
  end
  $function$`,
)

/**
 * The earliest planned time after p_at whose window has room for p_count messages; null when there
 * is none, because p_count is over the limit. Room appears only when a message leaves the window: at
 * that moment the window begins behind it, and has room when the message that many places further
 * on lies beyond its end.
 */
export const quotaRoomAt = sqlFunction(
  "quota_room_at",
  `(p_number bigint, p_at timestamptz, p_count integer, p_limit integer, p_window interval)
  returns timestamptz
  language plpgsql
  as $function$
  declare
    v_room_at timestamptz;
  begin
    if p_count > p_limit then
      return null;
    end if;
    select planned.due_at + p_window
    into v_room_at
    from (
      select m.due_at, lead(m.due_at, p_limit - p_count + 1) over (order by m.due_at) as beyond
      from messages m
      where m.number_id = p_number
        and ${counting("m")}
        and m.due_at > p_at - p_window
    ) planned
    where planned.beyond is null
      or planned.beyond > planned.due_at + p_window
    order by planned.due_at
    limit 1;
    return v_room_at;
  end
  $function$`,
)

/**
 * Until when a number that is full at p_now stays full: no planned time before that has room for
 * even one message. Null when it has room now; a full window that lies ahead says nothing.
 */
export const quotaFullUntil = sqlFunction(
  "quota_full_until",
  `(p_number bigint, p_now timestamptz, p_limit integer, p_window interval)
  returns timestamptz
  language plpgsql
  as $function$
  declare
    v_planned integer;
  begin
    select c.planned
    into v_planned
    from ${countPlanned.name}(p_number, p_now, p_now, p_window) c;
    if v_planned < p_limit then
      return null;
    end if;
    return ${quotaRoomAt.name}(p_number, p_now, 1, p_limit, p_window);
  end
  $function$`,
)
