/** Why a message waits, in one sentence, and what a user can do about it. */
import type { Waiting, WaitsFor } from "./timeline.ts"
import {
  disconnectedTexts,
  linkRemedies,
  pausedTexts,
  resumeRemedies,
  waitingTexts,
  whyLabels,
} from "./words.ts"

export interface Sentence {
  readonly message: string
  /** What ends it; null where time does. */
  readonly remedy: "link" | "resume" | null
  /** The remedy in words. */
  readonly ends: string | null
  readonly until: string | null
}

/** A number that is not connected for one of these connects by itself. */
const reconnecting = ["connection_lost"]

const bySelf = (message: string, until: string | null): Sentence => ({
  message,
  remedy: null,
  ends: null,
  until,
})

const sentence = ({ because, reason, until }: WaitsFor, ahead: number): Sentence => {
  switch (reason) {
    case "not_connected": {
      const message = disconnectedTexts[because ?? ""] ?? waitingTexts.connecting
      if (because === null || reconnecting.includes(because)) return bySelf(message, until)
      const ends = linkRemedies[because] ?? linkRemedies["logged_out"] ?? null
      return { message, remedy: "link", ends, until }
    }
    case "paused": {
      const message = pausedTexts[because ?? ""] ?? waitingTexts.paused
      const ends = resumeRemedies[because ?? "paused"] ?? resumeRemedies["paused"] ?? null
      return { message, remedy: "resume", ends, until }
    }
    case "sending":
      // A number sends one message at a time: with none ahead it is this one.
      return bySelf(ahead === 0 ? whyLabels.beingSent : waitingTexts.sending, until)
    default:
      return bySelf(waitingTexts[reason], until)
  }
}

/** What a user must do comes first, then what ends last. */
const weight = ({ remedy, until }: Sentence): number =>
  remedy === null ? (until === null ? 0 : Date.parse(until)) : Number.POSITIVE_INFINITY

export const sentences = (waiting: Waiting): ReadonlyArray<Sentence> => {
  const all = waiting.for
    .map((one) => sentence(one, waiting.ahead))
    .toSorted((a, b) => weight(b) - weight(a))
  if (all.length > 0) return all
  return [bySelf(waiting.ahead > 0 ? whyLabels.others : whyLabels.soon, null)]
}

export const findAhead = ({ ahead }: Waiting): string | null =>
  ahead === 0 ? null : whyLabels.ahead(ahead)
