/** Makes what applies the remote's delivery reports, each with its event where conversations are on. */
import { Clock, Effect } from "effect"
import { eventId, Ids } from "../model/Ids.ts"
import type { NumberId, TransportId } from "../model/Ids.ts"
import { MediaLinks } from "../model/Media.ts"
import type { Message, Tick } from "../model/Message.ts"
import { tickEvent } from "../model/MessageChange.ts"
import { sleep } from "../model/Time.ts"
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

/** A tick may precede the write of "sent": retries after these pauses, in real time. */
const overtakenPauses = [100, 300, 1000, 3000, 10_000, 30_000]

/** Applies a tick again while its message has not left yet. `message`: as the first try left it. */
export const tickOnceSent = Effect.fnUntraced(function* tickOnceSent(
  message: Message | null,
  again: Effect.Effect<Message | null>,
) {
  let latest = message
  for (const pause of overtakenPauses) {
    if (latest?.state !== "waiting") return
    yield* sleep(pause)
    latest = yield* again
  }
})

/** Ticks that one round applies. */
const earlyTickBatch = 500

/** Applies the ticks that came before their messages had left, and were not tried again since. How many. */
export const applyEarlyTicks = Effect.fnUntraced(function* applyEarlyTicks(
  applyTick: Effect.Success<typeof makeTick>,
) {
  const early = yield* (yield* Store).messages.earlyTicks(earlyTickBatch)
  for (const one of early) yield* applyTick(one.numberId, one.transportId, one.tick)
  return early.length
})
