/**
 * Delivery and read ticks. They repeat, skip and come out of order: the state only ever moves
 * forward (contract: Message status).
 */
import type { TransportId } from "../id/Ids.ts"
import { transition, transitions } from "./Message.ts"
import type { MessageState, Trigger } from "./Message.ts"
import type { MessageStore } from "./MessageStore.ts"

const triggers = { delivered: "delivery_tick", read: "read_tick" } as const

const states = Object.keys(transitions) as ReadonlyArray<MessageState>

/** The states that a trigger moves on from. */
const movedBy = (trigger: Trigger): ReadonlyArray<MessageState> =>
  states.filter((state) => transition(state, trigger) !== undefined)

/** Takes a tick that arrived from the phone; the message as it then stands, null when there is none. */
export const takeTick = (
  store: typeof MessageStore.Service,
  transportId: TransportId,
  status: "delivered" | "read",
) => store.tick(transportId, movedBy(triggers[status]), status)
