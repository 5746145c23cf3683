-- The copy and the behaviour that follows it, in one commit.
with followed as (
  insert into simulated_behaviours (number_id, send, error_message, latency_millis, groups)
  select :number_id, :send, :error_message, :latency_millis, :groups
  where :follows
  on conflict (number_id) do update
  set send = excluded.send,
    error_message = excluded.error_message,
    latency_millis = excluded.latency_millis,
    groups = excluded.groups
)
insert into simulated_sent (transport_id, number_id, recipient, text, media, at)
values (:transport_id, :number_id, :recipient, :text, :media, :at)
on conflict (number_id, transport_id) do nothing
returning id
