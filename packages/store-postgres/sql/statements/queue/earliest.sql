-- For all workers together.
select json_build_object(
  'lanes', epoch_millis((select n.due from next_lanes('{}', null, null) n)),
  'expiry', epoch_millis((select n.due from next_expiry() n)),
  'test_messages', epoch_millis((select n.due from next_test_messages() n)),
  'orphaned', epoch_millis((select n.due from next_orphaned() n)),
  'linking', epoch_millis((select n.due from next_linking('{}', null, null) n)),
  'reminders', epoch_millis((select n.due from next_reminders() n)),
  'deliveries', epoch_millis((select n.due from next_deliveries('{}') n)),
  'number_checks', epoch_millis((select n.due from next_number_checks('{}', null, null) n))
) as earliest
