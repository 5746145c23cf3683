/**
 * The end of a message's waiting, decided: what its row becomes, its event and its callback, and
 * whether allowance and quota get it back. Pure; the stores write it as it stands, guarded.
 */
import { messageCallback } from "../callback/Callback.ts"
import type { Callback } from "../callback/Callback.ts"
import { messageEvent } from "../event/MessageEvent.ts"
import type { MessageEvent } from "../event/MessageEvent.ts"
import type { EventId } from "../id/Ids.ts"
import type { MediaLink } from "../media/MediaLinks.ts"
import { transition } from "./Message.ts"
import type { Message, MessageError, Trigger } from "./Message.ts"

export interface MessageChange {
  /** The message in its new state. */
  readonly message: Message
  readonly event: MessageEvent
  /** Reports the end to the message's own address; null when it has none. */
  readonly callback: Callback | null
  readonly givesBack: boolean
}

export type Ending =
  | { readonly trigger: "send_succeeded" }
  | { readonly trigger: "send_failed"; readonly error: MessageError }
  | { readonly trigger: "cancel" | "expire" }

/** Ends a waiting message at `now`; undefined when its state has no such move. */
export const endMessage = (
  message: Message,
  ending: Ending,
  eventId: EventId,
  now: number,
  link: MediaLink,
): MessageChange | undefined => {
  const trigger: Trigger = ending.trigger
  const move = transition(message.state, trigger)
  if (move === undefined || move.event === null) return undefined
  const ended: Message = {
    ...message,
    state: move.to,
    sentAt: ending.trigger === "send_succeeded" ? now : null,
    error: ending.trigger === "send_failed" ? ending.error : null,
  }
  return {
    message: ended,
    event: messageEvent(eventId, move.event, ended, now, link),
    callback: messageCallback(eventId, ended, now),
    givesBack: move.givesBack,
  }
}
