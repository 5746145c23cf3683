/** Makes what ends messages outside of attempts: sweeps, cancels of many, removals. */
import { Effect } from "effect"
import { eventId, Ids } from "../model/Ids.ts"
import { markMissingFiles, MediaLinks } from "../model/Media.ts"
import { hasExpired } from "../model/Message.ts"
import type { Message } from "../model/Message.ts"
import { endMessage } from "../model/MessageChange.ts"
import type { Ending } from "../model/MessageChange.ts"
import { Store } from "../store/Store.ts"
import type { WorkGate } from "./Readiness.ts"

/** Whether a cancel at `now` comes too late, even if no sweep has run yet; a wrong clock proves nothing. */
export const isKnownExpired = (
  { causes }: Pick<WorkGate["Service"], "causes">,
  message: Message,
  now: number,
): boolean => hasExpired(message, now) && !causes().has("clock")

export const makeEndings = Effect.gen(function* makeEndings() {
  const ids = yield* Ids
  const { link } = yield* MediaLinks
  const markMissing = markMissingFiles((yield* Store).media)
  /** The ends of those that may end so at `now` (epoch milliseconds), each with its event. */
  return (messages: ReadonlyArray<Message>, now: number, toEnding: (message: Message) => Ending) =>
    Effect.map(markMissing(messages), (marked) =>
      marked.flatMap(
        (message) => endMessage(message, toEnding(message), eventId(ids, now), now, link) ?? [],
      ),
    )
})

export type Endings = Effect.Success<typeof makeEndings>
