-- Index messages_with_attachment.
update media_files m
set state = 'discarded'
where m.id = :id
  and m.state = 'attached'
  and not exists (
    select
    from messages has
    where has.attachment_id = m.id
  )
returning m.id
