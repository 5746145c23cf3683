/**
 * The first message that waits in a lane and has not expired, as a scalar subquery. Serves whoever
 * holds the lane's lock; index `messages_waiting`.
 */
export const firstWaiting = (
  column: "id" | "due_at",
  lane: string,
  { dueBy, now }: { readonly now: string; readonly dueBy?: string },
): string => `(
  select first.${column}
  from messages first
  where first.number_id = ${lane}.number_id
    and first.mode = 'live'
    and first.state = 'waiting'
    and (first.expires_at is null or first.expires_at > ${now})
    ${dueBy === undefined ? "" : `and first.due_at <= ${dueBy}`}
  order by first.due_at, first.id
  limit 1
)`
