/** Why a message waits, in one sentence, and what a user can do about it. */
import type { Waiting, WaitsFor } from "./timeline.ts"
import { disconnectedWords, pausedWords, waitingWords, whyWords } from "./words.ts"

export interface Sentence {
  readonly says: string
  /** What ends it; null where time does. */
  readonly remedy: "link" | "resume" | null
  readonly until: string | null
}

/** A number that is not connected for one of these connects by itself. */
const reconnecting: ReadonlyArray<string | null> = ["connection_lost", null]

const sentence = ({ because, reason, until }: WaitsFor): Sentence => {
  switch (reason) {
    case "not_connected":
      return {
        says: disconnectedWords[because ?? ""] ?? waitingWords.connecting,
        remedy: reconnecting.includes(because) ? null : "link",
        until,
      }
    case "paused":
      return { says: pausedWords[because ?? ""] ?? waitingWords.paused, remedy: "resume", until }
    default:
      return { says: waitingWords[reason], remedy: null, until }
  }
}

/** What a user must do comes first, then what ends last. */
const weight = ({ remedy, until }: Sentence): number =>
  remedy === null ? (until === null ? 0 : Date.parse(until)) : Number.POSITIVE_INFINITY

export const sentences = (waiting: Waiting): ReadonlyArray<Sentence> => {
  const all = waiting.for.map(sentence).toSorted((a, b) => weight(b) - weight(a))
  if (all.length > 0) return all
  return [{ says: waiting.ahead > 0 ? whyWords.others : whyWords.soon, remedy: null, until: null }]
}

export const aheadOf = ({ ahead }: Waiting): string | null =>
  ahead === 0 ? null : whyWords.ahead(ahead)
