-- Adds a name without a lease. Returns inserted, exists, or full when there are p_most.
-- Locks: the table, so that concurrent calls keep to the limit; readers and other writers of rows go on.
create function insert_subscription(
  p_name text,
  p_reached bigint,
  p_now timestamptz,
  p_most integer
) returns text
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  lock table subscriptions in share update exclusive mode;
  if exists (
    select
    from subscriptions s
    where s.name = p_name
  ) then
    return 'exists';
  end if;
  if p_most <= (
    select count(*)
    from subscriptions s
  ) then
    return 'full';
  end if;
  insert into subscriptions (name, reached, lease, lease_until)
  values (p_name, p_reached, 0, p_now);
  return 'inserted';
end
$$;
