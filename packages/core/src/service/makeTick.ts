/** Makes what applies the remote's delivery reports, each with its event where conversations are on. */
import { Clock, Effect } from "effect"
import { eventId, Ids } from "../model/Ids.ts"
import type { NumberId, TransportId } from "../model/Ids.ts"
import { MediaLinks } from "../model/Media.ts"
import type { Tick } from "../model/Message.ts"
import { tickEvent } from "../model/MessageChange.ts"
import { Store } from "../store/Store.ts"

export const makeTick = Effect.gen(function* makeTick() {
  const { messages } = yield* Store
  const ids = yield* Ids
  const { link } = yield* MediaLinks
  /** See `MessageStore.tick`. */
  return Effect.fnUntraced(function* applyTick(
    numberId: NumberId,
    transportId: TransportId,
    tick: Tick,
  ) {
    const now = yield* Clock.currentTimeMillis
    return yield* messages.tick(numberId, transportId, tick, now, (moved) =>
      tickEvent(eventId(ids, now), tick, moved, now, link),
    )
  })
})
