/** Why a message waits, in one sentence, and what a user can do about it. */
import type { Waiting, WaitsFor } from "./timeline.ts"
import {
  disconnectedWords,
  linkRemedies,
  pausedWords,
  resumeRemedies,
  waitingWords,
  whyWords,
} from "./words.ts"

export interface Sentence {
  readonly says: string
  /** What ends it; null where time does. */
  readonly remedy: "link" | "resume" | null
  /** The remedy in words. */
  readonly ends: string | null
  readonly until: string | null
}

/** A number that is not connected for one of these connects by itself. */
const reconnecting = ["connection_lost"]

const bySelf = (says: string, until: string | null): Sentence => ({
  says,
  remedy: null,
  ends: null,
  until,
})

const sentence = ({ because, reason, until }: WaitsFor): Sentence => {
  switch (reason) {
    case "not_connected": {
      const says = disconnectedWords[because ?? ""] ?? waitingWords.connecting
      if (because === null || reconnecting.includes(because)) return bySelf(says, until)
      const ends = linkRemedies[because] ?? linkRemedies["logged_out"] ?? null
      return { says, remedy: "link", ends, until }
    }
    case "paused": {
      const says = pausedWords[because ?? ""] ?? waitingWords.paused
      const ends = resumeRemedies[because ?? "paused"] ?? resumeRemedies["paused"] ?? null
      return { says, remedy: "resume", ends, until }
    }
    default:
      return bySelf(waitingWords[reason], until)
  }
}

/** What a user must do comes first, then what ends last. */
const weight = ({ remedy, until }: Sentence): number =>
  remedy === null ? (until === null ? 0 : Date.parse(until)) : Number.POSITIVE_INFINITY

export const sentences = (waiting: Waiting): ReadonlyArray<Sentence> => {
  const all = waiting.for.map(sentence).toSorted((a, b) => weight(b) - weight(a))
  if (all.length > 0) return all
  return [bySelf(waiting.ahead > 0 ? whyWords.others : whyWords.soon, null)]
}

export const aheadOf = ({ ahead }: Waiting): string | null =>
  ahead === 0 ? null : whyWords.ahead(ahead)
