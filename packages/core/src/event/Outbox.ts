/** The port through which the outbox is read; it is written only inside other commits. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { EventId } from "../Ids.ts"
import type { MessageEvent } from "./MessageEvent.ts"

/** How long events, and the log of their deliveries, can be looked at and delivered again. */
export const eventsKeptMillis = 30 * 24 * 60 * 60 * 1000

export interface OutboxEvent extends Omit<MessageEvent, "id"> {
  /** Position in the outbox, growing. */
  readonly id: number
  readonly eventId: EventId
}

export class Outbox extends Context.Service<
  Outbox,
  {
    /** Events after a position, oldest first. */
    read(after: number, limit: number): Effect.Effect<ReadonlyArray<OutboxEvent>, StoreUnavailable>
    /** The largest position that is taken as yet; 0 before the first. */
    readonly latest: Effect.Effect<number, StoreUnavailable>
    /**
     * Drops events made before `before`, unless they or older ones are still to be delivered; the
     * latest of them may be left for the next time.
     */
    forget(before: number): Effect.Effect<void, StoreUnavailable>
  }
>()("core/Outbox") {}
