/**
 * A customer's link fetched through the guarded egress into a spooled file: at the moment of sending,
 * and during the call of a version 1 send. How much it may be differs, everything else is the same.
 */
import { Data, Effect } from "effect"
import type { Scope } from "effect"
import type { Egress, EgressAnswer } from "../egress/Egress.ts"
import { sleep } from "../time/RealTime.ts"
import { MediaFilesError } from "./MediaFiles.ts"
import type { MediaFiles, SpooledContent } from "./MediaFiles.ts"

/** All tries together, in real time (decisions: Media, Version 1). */
const timeoutMillis = 30_000

const redirects = 3

/** Tries when the far side fails or the connection breaks. */
const tries = 3

/** How large a file may be, and how to say it. */
export interface LinkSize {
  readonly maximumBytes: number
  readonly inWords: string
}

/** The link did not lead to a file that may be sent; the message says why. */
export class LinkUnavailable extends Data.TaggedError("LinkUnavailable")<{
  readonly message: string
}> {}

const unavailable = (message: string) => new LinkUnavailable({ message })

const noAnswer = unavailable("The media link did not answer with the file.")

/** The last segment of a link's path, as a file name; empty when it has none. */
export const fileNameOfLink = (url: string): string => {
  const path = URL.canParse(url) ? new URL(url).pathname : ""
  const last = path.slice(path.lastIndexOf("/") + 1)
  return /^[\w.()+ -]{1,255}$/.test(last) ? last : ""
}

const answered = (answer: EgressAnswer): Effect.Effect<EgressAnswer, LinkUnavailable | "again"> => {
  if (answer.status >= 200 && answer.status < 300) return Effect.succeed(answer)
  return answer.status >= 500
    ? Effect.fail("again")
    : Effect.fail(unavailable(`The media link answered with HTTP ${answer.status}.`))
}

/**
 * Downloads what a link leads to; it goes with the scope. Fails with `MediaFilesError` only when the
 * file could not be kept, which is not the link's fault.
 */
export const downloadLink = (
  egress: typeof Egress.Service,
  files: typeof MediaFiles.Service,
  url: string,
  { inWords, maximumBytes }: LinkSize,
): Effect.Effect<SpooledContent, LinkUnavailable | MediaFilesError, Scope.Scope> =>
  egress.fetch(url, { maximumBytes, timeoutMillis, redirects }).pipe(
    Effect.flatMap(answered),
    Effect.flatMap((answer) => files.spool(answer.body, maximumBytes)),
    Effect.catchTags({
      EgressError: ({ reason }) =>
        reason === "connection" || reason === "timeout"
          ? Effect.fail("again" as const)
          : Effect.fail(unavailable(`The media link could not be fetched: ${reason}.`)),
      MediaFilesError: (error) =>
        Effect.fail(
          error.reason === "too_large"
            ? unavailable(`The media file is larger than ${inWords}.`)
            : error,
        ),
    }),
    Effect.retry({ times: tries - 1, while: (error) => error === "again" }),
    Effect.mapError((error) => (error === "again" ? noAnswer : error)),
    // All tries together: whoever waits for this file waits no longer.
    (download) =>
      Effect.raceFirst(download, Effect.andThen(sleep(timeoutMillis), Effect.fail(noAnswer))),
  )
