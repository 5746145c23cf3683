-- Whether it is the phone that is in the way: what was written since refuses first.
select exists (
  select
  from numbers n
  join sessions s on s.number_id = n.id and s.credentials = :before
  join numbers other on other.workspace_id = n.workspace_id
  left join linking_attempts a on a.number_id = other.id
  where n.id = :numberId
    and other.removed_at is null
    and has_phone(other, a.phone_before, n, :phone)
) as held
