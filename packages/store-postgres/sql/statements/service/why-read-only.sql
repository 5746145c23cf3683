-- Why nothing can be written, as on a standby; empty where it can.
select case
  when pg_is_in_recovery() then 'the database is a standby in recovery'
  when current_setting('transaction_read_only') = 'on' then 'the database is read-only'
  else ''
end as because
