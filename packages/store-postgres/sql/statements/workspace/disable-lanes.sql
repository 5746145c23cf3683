-- Stops the lanes of a workspace, or lets them go on. For holders of their locks.
update lanes l
set disabled = :disabled,
  limited_until = null,
  next_due = next_due_changed(
    l,
    holds_until(
      l, stopped_until(:disabled, l.paused_until), may_have_left(l), is_open(l)
    ),
    (select first.due_at from first_to_leave(l, :now) first)
  )
where l.number_id in (
    select n.id
    from numbers n
    where n.workspace_id = :id
      and n.removed_at is null
  )
  and l.removed_at is null
