-- Until when a lane's limits hold its next message back: the send cap, the pacing, the new recipients.
-- A function of its own, since few lanes are at a limit or paced: it costs a claim nothing where it is
-- not called.
create function lane_limit(
  p_number bigint,
  p_pacing integer[],
  p_head bigint,
  p_is_full boolean,
  p_cap integer,
  p_window interval,
  p_now timestamptz
) returns timestamptz
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_per_minute constant integer := p_pacing[3];
  v_per_hour constant integer := p_pacing[4];
  v_recipients_per_day constant integer := p_pacing[5];
  v_until timestamptz;
begin
  if p_is_full then
    v_until := (select c.until from sends_capped_until(p_number, p_cap, p_window, p_now) c);
  end if;
  if v_per_minute is not null then
    v_until := greatest(v_until, (
      select c.until
      from sends_capped_until(p_number, v_per_minute, interval '1 minute', p_now) c
    ));
  end if;
  if v_per_hour is not null then
    v_until := greatest(v_until, (
      select c.until
      from sends_capped_until(p_number, v_per_hour, interval '1 hour', p_now) c
    ));
  end if;
  if v_recipients_per_day is not null and not exists (
    select
    from messages m
    join lane_recipients known on known.number_id = p_number
      and known.recipient = recipient_name(m)
    where m.id = p_head
  ) then
    v_until := greatest(v_until, (
      select c.until
      from recipients_capped_until(p_number, v_recipients_per_day, interval '1 day', p_now) c
    ));
  end if;
  return v_until;
end
$$;
