update service_secrets
set value = :value
where name = :name
  and value = :before
