/** What a command has of the machine it runs on: a test gives it another one. */
import { usageError } from "./ending.ts"

export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>
  /** What was given on standard input; null when it is a terminal. */
  readonly input: (() => Promise<string>) | null
  /** Writes to standard output: results. Once that has failed it writes no more. */
  readonly print: (text: string) => void
  /** Waits until what was printed is written; why it cannot be, or null. `EPIPE`: its reader has gone. */
  readonly written: () => Promise<NodeJS.ErrnoException | null>
  /** Writes to standard error: progress, remarks and errors. */
  readonly remark: (text: string) => void
  /** Whether a person reads standard error, and sees progress. */
  readonly isWatched: boolean
  /** Ends what is under way; its reason is an `Ended`. */
  readonly signal: AbortSignal
  /** Waits; rejects when the signal ends it. */
  readonly pause: (millis: number) => Promise<void>
  /** The same; false, and no longer, once what reads standard output is known to have gone. */
  readonly pauseForReader: (millis: number) => Promise<boolean>
  /** Asks the service. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** What was given on standard input, without the end of its last line; a terminal, which would wait without a word, is a usage error. */
export const inputOf = async ({ input }: Machine, what: string): Promise<string> => {
  if (input === null) throw usageError(`give ${what} on standard input, from a pipe or a file`)
  return (await input()).replace(/\r?\n$/, "")
}
