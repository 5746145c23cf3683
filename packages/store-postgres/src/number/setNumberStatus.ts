/**
 * A number connects, is being connected or drops out, its lane with it, and the address that its
 * connection is reported to is told. The lane's next due moment is kept while it rests, so that
 * connecting needs no count.
 *
 * Locks: the lane first, like everybody who changes a status; only a later statement looks at the
 * number, so that no change is told twice.
 */
import { connectionParameters, report } from "../callback/writeCallbacks.ts"
import { sqlFunction } from "../database/SqlFunction.ts"
import { phoneWithoutLink } from "../linking/endLinking.ts"

/** The number as it then stands; none when it is unknown or removed. */
export const setNumberStatus = sqlFunction(
  "set_number_status",
  `(p_number bigint, p_status text, p_phone text, ${connectionParameters("new")})
  returns setof numbers
  language plpgsql
  as $function$
  declare
    -- As the attempt keeps it.
    v_before text;
  begin
    update lanes l
    set connected = p_status = 'connected' and l.removed_at is null
    where l.number_id = p_number;

    if p_status <> 'connecting' then
      delete from linking_attempts a
      where a.number_id = p_number
      returning a.phone_before
      into v_before;
    end if;

    if p_new_event_id is not null and exists (
      select
      from numbers n
      where n.id = p_number
        and n.status <> p_status
    ) then
      ${report("p_number", "new")}
    end if;

    return query
    update numbers n
    set status = p_status,
      phone = case
        when p_phone is not null then p_phone
        when p_status = 'disconnected' then ${phoneWithoutLink}
        else n.phone
      end
    where n.id = p_number
      and n.removed_at is null
    returning n.*;
  end
  $function$`,
)
