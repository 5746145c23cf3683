/**
 * The end of a message's waiting, decided: what its row becomes, its event and its callback, and
 * whether allowance and quota get it back. Pure; the stores write it as it stands, guarded.
 */
import { messageCallback } from "../callback/Callback.ts"
import type { Callback } from "../callback/Callback.ts"
import { messageEvent } from "../event/MessageEvent.ts"
import type { MessageEvent } from "../event/MessageEvent.ts"
import type { EventId } from "../Ids.ts"
import type { MediaLink } from "../media/MediaLinks.ts"
import { transition } from "./Message.ts"
import type { Message, MessageError, MessageEventType, Trigger } from "./Message.ts"

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

const changeTo = (
  ended: Message,
  { event, givesBack }: Pick<MessageChange, "givesBack"> & { readonly event: MessageEventType },
  eventId: EventId,
  now: number,
  link: MediaLink,
): MessageChange => ({
  message: ended,
  event: messageEvent(eventId, event, ended, now, link),
  callback: messageCallback(eventId, ended, now),
  givesBack,
})

/** A message that is stored at `now` although it was refused: it has failed before it ever waited. */
export const refusedMessage = (
  message: Omit<Message, "state" | "sentAt" | "error">,
  error: MessageError,
  eventId: EventId,
  now: number,
  link: MediaLink,
): MessageChange =>
  changeTo(
    { ...message, state: "failed", sentAt: null, error },
    { event: "message.failed", givesBack: false },
    eventId,
    now,
    link,
  )

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
  return changeTo(ended, { event: move.event, givesBack: move.givesBack }, eventId, now, link)
}
