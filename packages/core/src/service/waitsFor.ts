/**
 * Why a message waits, as far as the facts tell. It informs people and tests; the service decides nothing by it.
 */
import type { Message } from "../model/Message.ts"
import { waitsForNewChats } from "../model/NewChats.ts"
import { pausedUntil } from "../model/SendingNumber.ts"
import type { ConnectionReason } from "../model/SendingNumber.ts"
import { toConnection } from "../store/NumberStore.ts"
import type { ConnectionFacts } from "../store/NumberStore.ts"

/** In the order of `waitsFor`. */
export const waitReasons = [
  "disabled",
  // The store was restored to an earlier time, and no operator has released it yet.
  "held",
  // Its campaign is paused, or outside of its hours.
  "campaign",
  // An operator or refusals paused the number.
  "paused",
  "not_connected",
  "scheduled",
  // Its recipient is new, and the number may open no new chats.
  "new_chats_closed",
  // Pacing or the 24-hour quota of its number is used up.
  "limited",
  // The disk does not give its file or has no room for it, or for one before it.
  "no_room",
  // The number rests after a message, or the remote asked for a pause.
  "resting",
  // A worker has a lease on this message or one before it.
  "sending",
] as const

export type WaitReason = (typeof waitReasons)[number]

/** One obstacle. */
export interface WaitsFor {
  readonly reason: WaitReason
  /** When it ends by itself, in epoch milliseconds; null when unknown. */
  readonly until: number | null
  /** Why the workspace or number sends nothing; null otherwise or when unknown. */
  readonly because: ConnectionReason | null
}

/**
 * What a message waits for at `now`, in the order of `WaitReason` (contract: How messages leave).
 * Null when it waits no more, as after its `expiresAt`. Empty when only earlier messages delay it.
 * A test message reaches no phone, so its number never delays it. `campaign`: that of the message
 * holds it; what a restore holds of a campaign waits only for the restore. `newChatsUntil`: see
 * `TimelineFacts`.
 */
export const waitsFor = (
  message: Pick<Message, "state" | "mode" | "dueAt" | "expiresAt">,
  facts: ConnectionFacts,
  now: number,
  poolsConnections: boolean,
  isHeld: boolean,
  campaign: Pick<WaitsFor, "until"> | null = null,
  newChatsUntil: number | null = null,
): ReadonlyArray<WaitsFor> | null => {
  if (message.state !== "waiting") return null
  if (message.expiresAt !== null && message.expiresAt <= now) return null
  const connection = { ...facts, pause: null, isDisabled: false }
  const { reason: because, state } = toConnection(connection, now, poolsConnections)
  const paused = pausedUntil(facts.pause, now)
  const reasons: Array<WaitsFor> = []
  const add = (reason: WaitReason, until: number | null, why: ConnectionReason | null = null) =>
    reasons.push({ reason, until, because: why })
  const addUntil = (reason: WaitReason, until: number | null) => {
    if (until !== null && until > now) add(reason, until)
  }
  const isLive = message.mode === "live"
  if (facts.isDisabled) add("disabled", null, "account_disabled")
  if (campaign !== null) add("campaign", campaign.until)
  else if (isHeld) add("held", null)
  if (isLive && paused !== null) {
    add("paused", Number.isFinite(paused) ? paused : null, facts.pause?.reason ?? null)
  }
  if (isLive && state !== "connected") add("not_connected", null, because)
  addUntil("scheduled", message.dueAt)
  if (!isLive) return reasons
  if (waitsForNewChats(newChatsUntil, now)) {
    add("new_chats_closed", Number.isFinite(newChatsUntil) ? newChatsUntil : null)
  }
  addUntil("limited", facts.limitedUntil)
  addUntil("no_room", facts.noRoomUntil)
  addUntil("resting", facts.pacedUntil)
  if (facts.isSending) add("sending", null)
  return reasons
}
