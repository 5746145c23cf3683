/**
 * The core's `Lane.ts` and what it says of expiry, as conditions in SQL. The words of each are the
 * aliases of tables and the placeholder of the present moment.
 */
import type { Owned, Pacing } from "@messaging-service/core"
import { bigint, bigints, columnsOf, integers } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"

export const notExpired = (message: string, now: string): string =>
  `(${message}.expires_at is null or ${message}.expires_at > ${now})`

/** In the words of the index `messages_expiring`. */
export const hasExpired = (message: string, now: string): string =>
  `${message}.expires_at <= ${now}`

/**
 * Whether a message that is found by its id, or by its attachment, waits. Said as `state = 'waiting'` it would be in the words of the
 * index `messages_waiting`: while that index is small, the planner would rather read all of it than look
 * the message up, and the plan stays when it grows.
 */
export const stillWaits = (message: string): string =>
  `${message}.state between 'waiting' and 'waiting'`

/**
 * Whether a message is held since the store went back in time: it is due never, so that neither claims nor
 * sweeps by due time read it, however many there are.
 */
export const isHeld = (message: string): string => `${message}.due_at = 'infinity'`

/** When a message was planned to leave, held or not. */
export const plannedTime = (message: string): string =>
  `case when isfinite(${message}.due_at) then ${message}.due_at else coalesce(${message}.send_at, ${message}.created_at) end`

/** Whether a row's lease lasts; after it, or without one, the row is free. */
export const isLeased = (row: string, now: string): string => `${row}.lease_until > ${now}`

export const isFree = (row: string, now: string): string =>
  `(${row}.lease_until is null or ${row}.lease_until <= ${now})`

/** The core's `holdsLease`. */
export const holdsLease = (row: string, lease: string): string =>
  `(${row}.lease = ${lease} and ${row}.lease_until is not null)`

/** Whether a transport may have the first message of a lane. */
export const mayHaveLeft = (lane: string): string =>
  `(${lane}.lease_until is not null or ${lane}.interruptions > 0)`

export const inHands = (message: string, lane: string): string => `coalesce(
  ${lane}.head_id = ${message}.id
    and ${mayHaveLeft(lane)},
  false
)`

const laneOf = (message: string, condition: string): string => `exists (
    select
    from lanes l
    where l.number_id = ${message}.number_id
      and ${condition}
  )`

/** The same where the message's lane is not at hand. */
export const isInHands = (message: string): string => laneOf(message, inHands(message, "l"))

/** Whether the workspace of a message in test mode is disabled, or its number removed. */
export const isStopped = (message: string): string =>
  laneOf(message, "(l.removed_at is not null or l.disabled)")

/** Of the head of that lane, once its lease is over. */
export const mayBeHandedOut = (head: string, lane: string, now: string): string =>
  `(${lane}.interruptions > 0 or ${notExpired(head, now)})`

export const isOpen = (lane: string): string =>
  `(${lane}.connected or ${lane}.removed_at is not null)`

/** Index `lanes_due` holds these lanes alone, in these words. */
export const isClaimable = (lane: string): string =>
  `(
    ${lane}.connected or ${lane}.removed_at is not null
    or ${lane}.interruptions > 0 or ${lane}.lease_until is not null
  )`

/**
 * The first message that waits in a lane, is not held and has not expired, as a scalar subquery. For holders of
 * the lane's lock; index `messages_waiting`.
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
    and ${notExpired("first", now)}
    and first.due_at ${dueBy === undefined ? "< 'infinity'" : `<= ${dueBy}`}
  order by first.due_at, first.id
  limit 1
)`

/** Whether a message `m` waits in the lane of which that is not so. */
export const waitsUnless = (lane: string, condition: string): string => `exists (
        select
        from messages m
        where m.number_id = ${lane}.number_id
          and m.state = 'waiting'
          and not ${condition}
      )`

/** A statement that locks these lanes; only a later one sees them as they are then. */
export const lockLanes = (numbers: string): string => `perform
    from lanes l
    where l.number_id = any (${numbers})
    order by l.number_id
    for no key update;`

/** The same when what may have left counts too, although it has expired: it waits to be concluded. */
export const firstToLeave = (
  column: "id" | "due_at",
  lane: string,
  now: string,
): string => `coalesce(
    (
      select head.${column}
      from messages head
      where head.id = ${lane}.head_id
        and ${stillWaits("head")}
        and ${lane}.interruptions > 0
    ),
    ${firstWaiting(column, lane, { now })}
  )`

/** The core's `isInWindow`. */
export const isInWindow = (moment: string, now: string, window: string): string =>
  `${moment} > ${now} - ${window}
          and ${moment} <= ${now}`

/** How many messages the lane has sent in the window that ends now. */
export const sentInWindow = (lane: string, now: string, window: string): string => `
        -- Index messages_sent.
        select count(*)::integer as count
        from messages m
        where m.number_id = ${lane}.number_id
          and m.mode = 'live'
          and ${isInWindow("m.sent_at", now, window)}`

/** Where the present moment stands, and what fits into which window. */
interface Limit {
  readonly now: string
  readonly fits: string
  readonly window: string
}

/** The core's `cappedUntil` of what the lane has sent. Index messages_sent. */
export const sendsCappedUntil = (lane: string, { fits, now, window }: Limit): string => `(
        select past.sent_at + ${window}
        from messages past
        where past.number_id = ${lane}.number_id
          and past.mode = 'live'
          and ${isInWindow("past.sent_at", now, window)}
        order by past.sent_at desc
        offset ${fits} - 1
        limit 1
      )`

/** The same of those to whom it wrote for the first time. Index lane_recipients_by_time. */
const contactsCappedUntil = (lane: string, { fits, now, window }: Limit): string => `(
        select past.first_sent_at + ${window}
        from lane_recipients past
        where past.number_id = ${lane}.number_id
          and ${isInWindow("past.first_sent_at", now, window)}
        order by past.first_sent_at desc
        offset ${fits} - 1
        limit 1
      )`

/** The core's `recipientName`. */
export const recipientName = (message: string): string =>
  `coalesce(${message}.to_phone, ${message}.to_name)`

/** The places of a lane's pacing: as `toPacing` reads it. */
const [perMinute, perHour, newRecipients] = ["pacing[3]", "pacing[4]", "pacing[5]"]

/** Whether a lane's new recipients are limited, so that whom it writes to is kept. */
export const limitsRecipients = (lane: string): string => `${lane}.${newRecipients} is not null`

/**
 * The core's `limitedUntil`, for a lane and the id of its first message, which is of no table that is
 * called `addressed`; `capped` by the send cap.
 */
export const limitedUntil = (
  lane: string,
  head: string,
  { capped, now }: { readonly capped: string; readonly now: string },
): string => `greatest(
      ${capped},
      case when ${lane}.${perMinute} is not null then ${sendsCappedUntil(lane, {
        fits: `${lane}.${perMinute}`,
        window: "interval '1 minute'",
        now,
      })} end,
      case when ${lane}.${perHour} is not null then ${sendsCappedUntil(lane, {
        fits: `${lane}.${perHour}`,
        window: "interval '1 hour'",
        now,
      })} end,
      case
        when ${limitsRecipients(lane)} and not exists (
          select
          from messages addressed
          join lane_recipients known on known.number_id = ${lane}.number_id
            and known.recipient = ${recipientName("addressed")}
          where addressed.id = ${head}
        )
        then ${contactsCappedUntil(lane, {
          fits: `${lane}.${newRecipients}`,
          window: "interval '1 day'",
          now,
        })}
      end
    )`

export const toPacing = (places: ReadonlyArray<number | null> | null): Pacing | null => {
  if (places === null) return null
  const [minIntervalMillis, jitterMillis, minute, hour, recipients] = places.map(
    (place) => place ?? null,
  )
  return {
    minIntervalMillis: minIntervalMillis ?? null,
    jitterMillis: jitterMillis ?? null,
    perMinute: minute ?? null,
    perHour: hour ?? null,
    newRecipientsPerDay: recipients ?? null,
  }
}

export const fromPacing = (pacing: Pacing): ReadonlyArray<number | null> => [
  pacing.minIntervalMillis,
  pacing.jitterMillis,
  pacing.perMinute,
  pacing.perHour,
  pacing.newRecipientsPerDay,
]

export const pacingColumn = <M>(of: (one: M) => Pacing | null) =>
  integers((one: M) => {
    const pacing = of(one)
    return pacing === null ? null : fromPacing(pacing)
  })

/** The columns of a lane's pauses: the one that counts, and the one behind it. */
const pauseColumns = "paused_until, pause_reason, pause_behind_until, pause_behind_reason"

export const unpaused = `(${pauseColumns}) = (null, null, null, null)`

/** The core's `pausesOnceLinked`. */
export const pausesOnceLinked = (lane: string): string => `
        select p.until, p.reason, null::timestamptz, null::text
        from (
          values
            (${lane}.paused_until, ${lane}.pause_reason),
            (${lane}.pause_behind_until, ${lane}.pause_behind_reason)
        ) p (until, reason)
        where p.reason = 'paused'`

/** The pauses of these lanes once their numbers have new sessions. */
export const endOwnPauses = (lane: string): string =>
  `(${pauseColumns}) = (${pausesOnceLinked(lane)})`

/** The core's `pausesAfter`: what stands in these columns once another pause came. */
export const pausesAfter = (lane: string, reason: string, until: string): string => {
  const place = (n: number) =>
    ["until", "reason"].map(
      (name) => `(array_agg(p.${name} order by p.until desc, p.reason = 'paused'))[${n}]`,
    )
  return `
        select ${[...place(1), ...place(2)].join(", ")}
        from (
          select distinct on (p.reason = 'paused') p.until, p.reason
          from (
            values
              (${lane}.paused_until, ${lane}.pause_reason, false),
              (${lane}.pause_behind_until, ${lane}.pause_behind_reason, false),
              (coalesce(${until}, 'infinity'), ${reason}, true)
          ) p (until, reason, is_next)
          where p.is_next or p.until is not null
          order by p.reason = 'paused', (p.reason = 'paused' and p.is_next) desc, p.until desc
        ) p`
}

/** The core's `pausedUntil`, of the moment at which a pause ends. */
export const pausedUntil = (until: string, now: string): string =>
  `case when ${until} > ${now} then ${until} end`

/** The pauses of these lanes once another one came. */
export const setPauses = (lane: string, reason: string, until: string): string =>
  `(${pauseColumns}) = (${pausesAfter(lane, reason, until)})`

/** The core's `stoppedUntil`, of the moment at which the lane's pause ends. */
export const stoppedUntil = (lane: string, disabled = `${lane}.disabled`): string =>
  `case when ${disabled} then 'infinity' else ${lane}.paused_until end`

/** The core's `holdsUntil`; what is in flight was interrupted by then. */
export const holdsUntil = (
  lane: string,
  stopped: string,
  {
    firstMayHaveLeft = mayHaveLeft(lane),
    opened = isOpen(lane),
  }: { readonly firstMayHaveLeft?: string; readonly opened?: string } = {},
): string => `case
        when ${firstMayHaveLeft} then (
          select least(hold.until, head.expires_at)
          from (
            values (case when ${opened} then ${stopped} else 'infinity'::timestamptz end)
          ) hold (until)
          left join messages head on head.id = ${lane}.head_id
          where hold.until is not null
        )
        else ${stopped}
      end`

/** The moment, or null where it lies after an endless pause and so never comes by itself. */
const ifEver = (moment: string): string => `nullif(${moment}, 'infinity')`

/** The core's `nextDueAfter`, for each change. */
export const nextDueAfter = {
  accepted: (lane: string, dueAt: string): string => `case
            when ${lane}.lease_until is null and ${lane}.interruptions = 0
            then ${ifEver(`greatest(
              least(${lane}.next_due, ${dueAt}),
              ${lane}.hold_until, ${lane}.limited_until, ${stoppedUntil(lane)}
            )`)}
            else ${lane}.next_due
          end`,
  claimed: (change: {
    readonly handsOut: string
    readonly leaseUntil: string
    readonly until: string
    readonly firstDueAt: string
  }): string => `case
          when ${change.handsOut} then ${change.leaseUntil}
          when ${change.until} is not null then ${ifEver(change.until)}
          else ${change.firstDueAt}
        end`,
  ended: (lane: string, first: string): string => `case
        when ${lane}.lease_until is not null or ${lane}.removed_at is not null
        then ${lane}.next_due
        else (
          select ${ifEver(`greatest(
            first.due_at,
            case when ${lane}.limited_until is null then ${lane}.next_due end,
            ${lane}.hold_until, ${holdsUntil(lane, stoppedUntil(lane))}
          )`)}
          from (values (${first})) first (due_at)
          where first.due_at is not null
        )
      end`,
  settled: (
    lane: string,
    change: {
      readonly now: string
      readonly again: string
      readonly notBefore: string
      readonly limitedUntil: string
      readonly stoppedUntil: string
      readonly mayHaveLeft: string
      readonly firstDueAt: string
    },
  ): string => `case
        when ${lane}.removed_at is not null and not (${change.again} and ${change.mayHaveLeft})
        then null
        else ${ifEver(`greatest(
          case when not ${change.again} then coalesce(${change.firstDueAt}, 'infinity') end,
          case when ${change.again} then ${change.limitedUntil} end,
          ${change.now}, ${change.notBefore},
          ${holdsUntil(lane, change.stoppedUntil, {
            firstMayHaveLeft: `${change.again} and ${change.mayHaveLeft}`,
          })}
        )`)}
      end`,
  changed: (lane: string, heldUntil: string, first: string): string => `case
        when ${lane}.lease_until is not null or ${lane}.removed_at is not null
        then ${lane}.next_due
        else ${ifEver(
          `greatest(
            coalesce(${first}, 'infinity'), ${lane}.hold_until, ${heldUntil}
          )`,
        )}
      end`,
  /** The same where the number connects or drops out: kept while nothing may have left. */
  opened: (lane: string, opened: string, now: string): string => `case
        when ${lane}.interruptions > 0 then ${nextDueAfter.changed(
          lane,
          holdsUntil(lane, stoppedUntil(lane), { opened }),
          firstToLeave("due_at", lane, now),
        )}
        else ${lane}.next_due
      end`,
  removed: (lane: string, now: string): string => `case
        when ${lane}.lease_until is not null then ${lane}.lease_until
        when ${lane}.head_id is not null and ${lane}.interruptions > 0
        then greatest(${now}, ${lane}.hold_until)
      end`,
}

/** The core's `shardOf`. */
export const shardOf = (number: string, of: string): string => `${number} % ${of}`

/** The core's `isOwned`; `of` is null for all numbers. */
export const isOwned = (number: string, { of, shards }: SqlOwned): string =>
  `(${of} is null or ${shardOf(number, of)} = any (${shards}))`

interface SqlOwned {
  readonly of: string
  readonly shards: string
}

/** What a claim says of that, as functions and statements take it. */
export const ownedFields = {
  owned: {
    p_of: bigint(({ owned }) => (owned === "all" ? null : owned.of)),
    p_shards: bigints(({ owned }) => (owned === "all" ? null : owned.shards)),
  },
} satisfies FieldsOf<{ readonly owned: Owned }>

export const ownedColumns = columnsOf(ownedFields)

export const ownedParameters: SqlOwned = { of: "p_of", shards: "p_shards" }
