-- Sums of the elements at the same places; one of the two may be shorter.
--
-- Never null: answer
create function added_elements(p_one bigint[], p_other bigint[]) returns bigint[]
language plpgsql immutable parallel safe
set search_path from current
as $$
begin
  return array(
    select coalesce(at_place.one, 0) + coalesce(at_place.other, 0)
    from unnest(p_one, p_other) with ordinality at_place (one, other, place)
    order by at_place.place
  );
end
$$;
