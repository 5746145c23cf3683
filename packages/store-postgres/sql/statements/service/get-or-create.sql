-- Writes nothing new over what is there, but answers with it: one round trip, one winner.
insert into service_secrets (name, value)
values (:name, :candidate)
on conflict (name) do update
set name = excluded.name
returning value
