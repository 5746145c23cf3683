-- Counts by name, of both.
--
-- Never null: answer
create function added_counts(p_one jsonb, p_other jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path from current
as $$
begin
  return (
    select coalesce(jsonb_object_agg(summed.name, summed.count), '{}')
    from (
      select one.key as name, sum(one.value::bigint) as count
      from (
        select key, value from jsonb_each_text(p_one)
        union all
        select key, value from jsonb_each_text(p_other)
      ) one
      group by one.key
    ) summed
  );
end
$$;
