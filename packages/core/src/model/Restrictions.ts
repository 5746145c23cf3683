/** What WhatsApp lets a number do with people who never wrote to it (contract: Restrictions). */
import { eventData, serviceEvent } from "./Event.ts"
import type { RestrictionEventType, ServiceEvent } from "./Event.ts"
import type { EventId, NumberId } from "./Ids.ts"
import { eventNumber } from "./MessageChange.ts"
import type { ReportedNumber } from "./MessageChange.ts"
import type { SendingNumber } from "./SendingNumber.ts"
import { instantOrNull, millisOrNull } from "./Time.ts"

/**
 * `new_chats_closed`: people who never wrote to the number cannot be written to. `unknown`: not asked
 * yet, not connected, or refused.
 */
export const restrictionStates = ["none", "new_chats_closed", "unknown"] as const

export type RestrictionState = (typeof restrictionStates)[number]

export const capWarnings = ["none", "first", "second", "capped"] as const

/** How near a number is to its cap. */
export type CapWarning = (typeof capWarnings)[number]

/** How many new chats a number may open. */
export interface NewChatCap {
  /** Null: without a cap. */
  readonly limit: number | null
  readonly used: number
  /** When `used` starts again; null when unknown. */
  readonly resetsAt: number | null
  readonly warning: CapWarning
}

export interface Restrictions {
  readonly state: RestrictionState
  /** End of `new_chats_closed`; null when unknown. */
  readonly until: number | null
  /** The platform's name of the reason; null for none. */
  readonly reason: string | null
  /** Null when unknown. */
  readonly newChats: NewChatCap | null
  /** When the platform was last asked or told of it; null for never. */
  readonly checkedAt: number | null
}

/** Nothing is known: as of `checkedAt`, when the platform refused to answer. */
export const unknownRestrictions = (checkedAt: number | null): Restrictions => ({
  state: "unknown",
  until: null,
  reason: null,
  newChats: null,
  checkedAt,
})

/** What is shown of a number: a number that is not connected has no known restrictions. */
export const currentRestrictions = (
  { status }: Pick<SendingNumber, "status">,
  stored: Restrictions | null,
): Restrictions =>
  stored === null || status !== "connected"
    ? unknownRestrictions(stored?.checkedAt ?? null)
    : stored

/** Whether the latest event is `number.restricted`, once the platform said so; nothing is said by `unknown`. */
export const isRestrictionReported = (isReported: boolean, state: RestrictionState): boolean =>
  state === "new_chats_closed" || (isReported && state !== "none")

/** The event that a change makes; `isReported`: the latest event was `number.restricted`. */
export const restrictionReport = (
  isReported: boolean,
  state: RestrictionState,
): RestrictionEventType | undefined => {
  const isNow = isRestrictionReported(isReported, state)
  if (isNow === isReported) return undefined
  return isNow ? "number.restricted" : "number.unrestricted"
}

const oncePerMillis = 60_000
const againMillis = 6 * 60 * 60_000

/**
 * When the platform is asked next; `refusedAt`: of the latest refusal of a new chat. An end that has passed is
 * asked about again: clocks differ.
 */
export const nextRestrictionsCheck = (
  { checkedAt, until }: Pick<Restrictions, "checkedAt" | "until">,
  refusedAt: number | null,
): number => {
  if (checkedAt === null) return 0
  const passed = checkedAt + oncePerMillis
  const ends = until === null ? Infinity : until > checkedAt ? until : passed
  const afterRefusal = refusedAt !== null && refusedAt >= checkedAt ? passed : Infinity
  return Math.min(checkedAt + againMillis, ends, afterRefusal)
}

/** Restrictions as the API shows them. */
export const restrictionsJson = (
  numberId: NumberId,
  { checkedAt, newChats, reason, state, until }: Restrictions,
) => ({
  number_id: numberId,
  state,
  until: instantOrNull(until),
  reason,
  new_chats: newChats && {
    limit: newChats.limit,
    used: newChats.used,
    resets_at: instantOrNull(newChats.resetsAt),
    warning: newChats.warning,
  },
  checked_at: instantOrNull(checkedAt),
})

export type RestrictionsJson = ReturnType<typeof restrictionsJson>

/** The event of a number's restrictions, as they became at `now` (contract: Events of conversations). */
export const restrictionsEvent = (
  { id, type }: { readonly id: EventId; readonly type: RestrictionEventType },
  number: SendingNumber,
  restrictions: Restrictions,
  now: number,
): ServiceEvent =>
  serviceEvent(id, type, number, now, {
    number: eventNumber(number),
    restrictions: restrictionsJson(number.id, restrictions),
  })

/** Restrictions with their number, as callers see them. */
export interface NumberRestrictions extends Restrictions {
  readonly numberId: NumberId
}

/** A number and its restrictions, as their event shows them. */
export interface ReportedRestrictions extends Pick<ReportedNumber, "number"> {
  readonly restrictions: NumberRestrictions
}

/** Reads them back from the body of their event. */
export const reportedRestrictions = (body: string): ReportedRestrictions => {
  const { number, restrictions } = eventData<
    Pick<ReportedNumber, "number"> & { readonly restrictions: RestrictionsJson }
  >(body)
  const { checked_at, new_chats: cap, reason, state, until } = restrictions
  return {
    number,
    restrictions: {
      numberId: number.id,
      state,
      until: millisOrNull(until),
      reason,
      newChats: cap && {
        limit: cap.limit,
        used: cap.used,
        resetsAt: millisOrNull(cap.resets_at),
        warning: cap.warning,
      },
      checkedAt: millisOrNull(checked_at),
    },
  }
}
