insert into clock as present (offset_millis)
values (:to)
on conflict (singleton) do update
set offset_millis = greatest(present.offset_millis, excluded.offset_millis)
returning offset_millis
