/**
 * Whether a message is in the hands of a transport: while its lane's lease lasts, and after that as
 * long as an attempt was interrupted, because the message may have left. It can then neither be
 * cancelled nor expire; only another attempt, or giving up, settles it.
 */
export const inHands = (message: string, lane: string): string => `coalesce(
  ${lane}.head_id = ${message}.id
    and (${lane}.lease_until is not null or ${lane}.interruptions > 0),
  false
)`
