/**
 * Delivery and read ticks. They repeat, skip and come out of order: the state only ever moves
 * forward (contract: Message status).
 */
import { Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { TransportId } from "../id/Ids.ts"
import { transition, transitions } from "./Message.ts"
import type { Message, MessageState, Trigger } from "./Message.ts"
import { MessageStore } from "./MessageStore.ts"

const triggers = { delivered: "delivery_tick", read: "read_tick" } as const

const states = Object.keys(transitions) as ReadonlyArray<MessageState>

/** The states that a trigger moves on from. */
const movedBy = (trigger: Trigger): ReadonlyArray<MessageState> =>
  states.filter((state) => transition(state, trigger) !== undefined)

export class Ticks extends Context.Service<
  Ticks,
  {
    /** A tick arrives from the phone; the message as it then stands, null when there is none. */
    arrived(
      transportId: TransportId,
      status: "delivered" | "read",
    ): Effect.Effect<Message | null, StoreUnavailable>
  }
>()("core/Ticks") {
  static readonly layer = Layer.effect(
    Ticks,
    Effect.gen(function* () {
      const store = yield* MessageStore
      return Ticks.of({
        arrived: (transportId, status) =>
          store.tick(transportId, movedBy(triggers[status]), status),
      })
    }),
  )
}
