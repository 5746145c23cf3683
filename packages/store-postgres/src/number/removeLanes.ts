/**
 * Closing lanes, because their numbers were removed or their workspace deleted: nothing new is
 * accepted or claimed; what waits becomes stranded. A message in flight keeps its lease, so that it
 * is handed out once more when its worker dies, and so is one whose attempt was interrupted.
 * Attempts at linking end.
 *
 * Locks: the lanes by id; only a later statement looks for what waits in them.
 */
import { sqlFunction } from "../database/SqlFunction.ts"
import { inHands, nextDueAfter } from "../queue/lane.ts"

export const removeLanes = sqlFunction(
  "remove_lanes",
  `(p_numbers bigint[], p_now timestamptz)
  returns void
  language plpgsql
  as $function$
  begin
    perform
    from lanes l
    where l.number_id = any (p_numbers)
    order by l.number_id
    for no key update;

    update lanes l
    set connected = false,
      removed_at = coalesce(l.removed_at, p_now),
      next_due = ${nextDueAfter.removed("l", "p_now")},
      stranded = exists (
        select
        from messages m
        where m.number_id = l.number_id
          and m.state = 'waiting'
          and not ${inHands("m", "l")}
      )
    where l.number_id = any (p_numbers);

    delete from linking_attempts a
    where a.number_id = any (p_numbers);
  end
  $function$`,
)

export const removeNumber = sqlFunction(
  "remove_number",
  `(p_workspace bigint, p_number bigint, p_now timestamptz)
  returns boolean
  language plpgsql
  as $function$
  begin
    perform ${removeLanes.name}(array[n.id], p_now)
    from numbers n
    where n.id = p_number
      and n.workspace_id = p_workspace
      and n.removed_at is null;

    update numbers n
    set removed_at = p_now
    where n.id = p_number
      and n.workspace_id = p_workspace
      and n.removed_at is null;
    return found;
  end
  $function$`,
)
