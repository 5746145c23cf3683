/**
 * The core's `Quota.ts` in SQL: the same counts, from the index `messages_planned`. The contract suite
 * holds both to each other with random facts. A statement that decides by them holds the lane's lock.
 */
import { statesGivenBack } from "@messaging-service/core"
import { literals, sqlFunction } from "../database/Statement.ts"

/** The core's `countsInQuota`. */
export const counting = (alias: string) =>
  `${alias}.mode = 'live' and ${alias}.state not in (${literals(statesGivenBack)}) and not ${alias}.refused`

/** Whether the lane is known to be full at that time, and whether its bound tells that there is room. */
export const isKnownFull = (lane: string, plannedAt: string): string =>
  `${plannedAt} < ${lane}.quota_full_until`

export const fitsByBound = (lane: string, count: string, limit: string): string =>
  `${lane}.quota_bound + ${count} <= ${limit}`

/** The core's `fullUntilAfter`: whether the moment until which a lane is full is known no more. */
export const takesPromisedRoom = (lane: string, plannedAt: string, window: string): string =>
  `${plannedAt} < ${lane}.quota_full_until + ${window}`

/**
 * `planned`: what the fullest of the windows holds that a message planned for p_at falls into, with
 * what this call has accepted and not yet inserted. `bound`: all that is inserted and planned after
 * p_now - p_window, whatever lies ahead included. Times have milliseconds, so that a window begins a
 * microsecond behind the moment that it leaves out.
 */
export const countPlanned = sqlFunction(
  "count_planned",
  `
    p_number bigint, p_at timestamptz, p_now timestamptz, p_window interval,
    p_pending_at timestamptz[], p_pending_count integer[]
  `,
  "table (planned integer, bound integer)",
)`
  begin
    -- The windows that end at p_at and with each message behind it. Those of messages before it are
    -- cut short, to no more than what the one at p_at holds.
    select coalesce(
      greatest(
        sum(windows.messages) filter (where windows.due_at <= p_at),
        max(windows.filled)
      ),
      0
    )
    into planned
    from (
      select
        near.due_at,
        near.messages,
        sum(near.messages) over (
          order by near.due_at
          range between p_window - interval '1 microsecond' preceding and current row
        ) as filled
      from (
        select m.due_at, 1 as messages
        from messages m
        where m.number_id = p_number
          and ${counting("m")}
          and m.due_at > p_at - p_window
          and m.due_at < p_at + p_window
        union all
        select k.due_at, k.messages
        from unnest(p_pending_at, p_pending_count) k (due_at, messages)
        where k.due_at > p_at - p_window
          and k.due_at < p_at + p_window
      ) near
    ) windows;
    select count(*)
    into bound
    from messages m
    where m.number_id = p_number
      and ${counting("m")}
      and m.due_at > p_now - p_window;
    return next;
  end`

/** The core's `fitsExactly`. */
export const fitsExactly = (planned: string, count: string, limit: string): string =>
  `(${planned} + ${count} <= ${limit})`

/**
 * The earliest planned time from p_at on at which there is room for p_count messages; null when
 * there is none, because p_count is over the limit. The core's `countExactly` says why: so many in a
 * row within a window bar what lies between `barred_from` and `barred_until`.
 */
export const quotaRoomAt = sqlFunction(
  "quota_room_at",
  "p_number bigint, p_at timestamptz, p_count integer, p_limit integer, p_window interval",
  "timestamptz",
)`
  declare
    v_in_row constant integer := p_limit - p_count;
    v_room_at timestamptz := p_at;
    v_barred record;
  begin
    if v_in_row < 0 then
      return null;
    end if;
    -- In the order of the index, and no further than it must.
    for v_barred in
      select
        in_row.last_at - p_window as barred_from,
        in_row.due_at + p_window as barred_until
      from (
        select m.due_at, lead(m.due_at, v_in_row) over (order by m.due_at) as last_at
        from messages m
        where m.number_id = p_number
          and ${counting("m")}
          and m.due_at > p_at - p_window
      ) in_row
      where in_row.last_at < in_row.due_at + p_window
      order by in_row.due_at
    loop
      exit when v_barred.barred_from >= v_room_at;
      v_room_at := greatest(v_room_at, v_barred.barred_until);
    end loop;
    return v_room_at;
  end`

/**
 * Until when a number that is full now stays full: no planned time before that has room for even one
 * message. Null when it has room now; a full day that lies ahead says nothing.
 */
export const quotaFullUntil = (number: string, now: string, limit: string, window: string) =>
  `nullif(${quotaRoomAt.name}(${number}, ${now}, 1, ${limit}, ${window}), ${now})`
