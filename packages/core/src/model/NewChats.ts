/**
 * Messages to new recipients wait while a platform lets a number open no new chats (contract: Restrictions). They are set aside, so that others pass them, and return in their order.
 */
import type { Ids } from "./Ids.ts"
import type { Recipient } from "./Recipient.ts"
import type { Restrictions } from "./Restrictions.ts"

/** How much longer than the restriction they wait: the platform may end it late. Milliseconds. */
const shortestExtra = 60_000
const longestExtra = 300_000

/** Draws how much longer, once for each restriction, so that numbers do not all begin at once. */
export const drawNewChatsExtra = (ids: typeof Ids.Service): number =>
  shortestExtra + (Number.parseInt(ids.hex(12), 16) % (longestExtra - shortestExtra + 1))

/**
 * Until when messages to new recipients wait after the platform was heard; infinite while it names no end, null: they
 * do not. `waitsUntil`: before. What was drawn for a restriction stays, and an unanswered question ends no wait with a
 * known end.
 */
export const newChatsUntil = (
  waitsUntil: number | null,
  { state, until }: Pick<Restrictions, "state" | "until">,
  extraMillis: number,
  now: number,
): number | null => {
  if (state === "new_chats_closed") {
    const end = until ?? Infinity
    const isSame =
      waitsUntil !== null && waitsUntil >= end + shortestExtra && waitsUntil <= end + longestExtra
    return isSame ? waitsUntil : end + extraMillis
  }
  if (waitsUntil === null || (state === "unknown" && waitsUntil !== Infinity)) return waitsUntil
  return Math.min(waitsUntil, now + extraMillis)
}

/** Whether messages to new recipients wait. */
export const waitsForNewChats = (until: number | null, now: number): boolean =>
  until !== null && until > now

/** Whether the recipient can be new: groups and chats are known, and usernames are Telegram's. */
export const canBeNew = ({ kind }: Recipient): boolean =>
  kind === "phone" || kind === "contact_phone"

/** The most messages that one claim sets aside: a store holds locks for as long. */
export const mostSetAside = 500
