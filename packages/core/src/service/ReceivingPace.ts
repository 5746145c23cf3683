/** How fast a number receives: what comes faster waits at the platform (contract: Bounds of conversations). */
import { Clock, Effect } from "effect"

/** At most so many messages within so long. */
const bounds = [
  { messages: 500, millis: 10_000 },
  { messages: 20_000, millis: 3_600_000 },
] as const

const longest = Math.max(...bounds.map(({ millis }) => millis))
const most = Math.max(...bounds.map(({ messages }) => messages))

/** Makes what takes one message of a number, once it is its turn. Not for concurrent use. */
export const makeReceivingPace = (): Effect.Effect<void> => {
  /** When each of the latest messages was taken, oldest first. */
  const taken: Array<number> = []
  const take: Effect.Effect<void> = Effect.gen(function* takeTurn() {
    const now = yield* Clock.currentTimeMillis
    // What was taken before the clock was set back counts as taken now.
    for (let index = taken.length - 1; (taken[index] ?? now) > now; index--) taken[index] = now
    const turn = Math.max(
      ...bounds.map(({ messages, millis }) => (taken.at(-messages) ?? -Infinity) + millis),
    )
    if (turn > now) {
      yield* Effect.sleep(turn - now)
      return yield* take
    }
    taken.push(now)
    const tooOld = now - longest
    while (taken.length > most || (taken[0] ?? now) <= tooOld) taken.shift()
  })
  return take
}
