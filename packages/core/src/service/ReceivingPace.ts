/**
 * How fast a number receives, and how much of it waits in memory: what is above that waits at the platform
 * (contract: Guarantees of conversations).
 */
import { Clock, Effect } from "effect"

/** At most so many messages within so long. */
const bounds = [
  { messages: 500, millis: 10_000 },
  { messages: 20_000, millis: 3_600_000 },
] as const

const longest = Math.max(...bounds.map(({ millis }) => millis))
const maximum = Math.max(...bounds.map(({ messages }) => messages))

/** Makes what takes one message of a number, once it is its turn. Not for concurrent use. */
export const makeReceivingPace = (): Effect.Effect<void> => {
  /** When each of the latest messages was taken, oldest first. */
  const times: Array<number> = []
  const take: Effect.Effect<void> = Effect.gen(function* takeTurn() {
    const now = yield* Clock.currentTimeMillis
    // What was taken before the clock was set back counts as taken now.
    for (let index = times.length - 1; (times[index] ?? now) > now; index--) times[index] = now
    const allowedAt = Math.max(
      ...bounds.map(({ messages, millis }) => (times.at(-messages) ?? -Infinity) + millis),
    )
    if (allowedAt > now) {
      yield* Effect.sleep(allowedAt - now)
      return yield* take
    }
    times.push(now)
    const tooOld = now - longest
    while (times.length > maximum || (times[0] ?? now) <= tooOld) times.shift()
  })
  return take
}

/** What came for a number and is not stored. */
export interface Backlog {
  readonly messages: number
  readonly bytes: number
}

const maxBacklog: Backlog = { messages: 1000, bytes: 8 * 1024 * 1024 }

/** Whether a transport takes no more of a number into memory until something of it is stored. */
export const isBacklogFull = ({ bytes, messages }: Backlog): boolean =>
  messages >= maxBacklog.messages || bytes >= maxBacklog.bytes
