/**
 * Why a message waits: everything that has to end before it leaves, as far as facts tell. For people who
 * look, and for tests; nothing is decided by it.
 */
import { connectionOf } from "../number/Connection.ts"
import type { ConnectionFacts } from "../number/Connection.ts"
import { pausedUntil } from "../number/Breaker.ts"
import type { ConnectionReason } from "../number/SendingNumber.ts"
import type { Message } from "./Message.ts"

/** In the order in which `waitsFor` names them. */
export type WaitReason =
  /** Its workspace is disabled. */
  | "disabled"
  /** The store went back in time, and an operator has not released it yet. */
  | "held"
  /** Its number is paused, by an operator or by refusals. */
  | "paused"
  /** Its number is not connected. */
  | "not_connected"
  /** Its time to be sent has not come. */
  | "scheduled"
  /** Its number's limits are used up: its pacing, or the quota of 24 hours. */
  | "limited"
  /** The disk has no room for the file that it needs, or that one before it needs. */
  | "no_room"
  /** Its number rests after a message, or because the far side asked for it. */
  | "resting"
  /** A message of its number is in the hands of the far side: this one, or one before it. */
  | "sending"

/** One thing that has to end first. */
export interface WaitsFor {
  readonly reason: WaitReason
  /** Epoch milliseconds at which it ends by itself; null where that is not known. */
  readonly until: number | null
  /** Why the workspace or the number sends nothing; null for the other reasons, and where it is not known. */
  readonly because: ConnectionReason | null
}

/**
 * What a message waits for at `now`, given how its number's lane and connection stand, in the order of
 * `WaitReason` (contract: How messages leave). Null when it does not wait any more, as behind its
 * `expiresAt`; empty when nothing holds it up but those before it. A message in test mode reaches no
 * phone, so nothing of its number holds it up.
 */
export const waitsFor = (
  message: Pick<Message, "state" | "mode" | "dueAt" | "expiresAt">,
  facts: ConnectionFacts,
  now: number,
  keepsConnections: boolean,
  isHeld: boolean,
): ReadonlyArray<WaitsFor> | null => {
  if (message.state !== "waiting") return null
  if (message.expiresAt !== null && message.expiresAt <= now) return null
  const connection = { ...facts, pause: null, isDisabled: false }
  const { reason: because, state } = connectionOf(connection, now, keepsConnections)
  const paused = pausedUntil(facts.pause, now)
  const reasons: Array<WaitsFor> = []
  const add = (reason: WaitReason, until: number | null, why: ConnectionReason | null = null) =>
    reasons.push({ reason, until, because: why })
  const addUntil = (reason: WaitReason, until: number | null) => {
    if (until !== null && until > now) add(reason, until)
  }
  const isLive = message.mode === "live"
  if (facts.isDisabled) add("disabled", null, "account_disabled")
  if (isHeld) add("held", null)
  if (isLive && paused !== null) {
    add("paused", Number.isFinite(paused) ? paused : null, facts.pause?.reason ?? null)
  }
  if (isLive && state !== "connected") add("not_connected", null, because)
  addUntil("scheduled", message.dueAt)
  if (!isLive) return reasons
  addUntil("limited", facts.limitedUntil)
  addUntil("no_room", facts.noRoomUntil)
  addUntil("resting", facts.restsUntil)
  if (facts.isSending) add("sending", null)
  return reasons
}
