/** The machine that a command runs on; a test provides another one. */
import { usageError } from "./ending.ts"

export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Standard input; null when it is a terminal. */
  readonly input: (() => Promise<string>) | null
  /** Asks on the terminal for a secret, which it does not show; null where standard input is none. */
  readonly askSecret: ((question: string) => Promise<string>) | null
  /** The width of the terminal that shows results; null where they go elsewhere. */
  readonly width: number | null
  /** An IANA zone: people see times there. */
  readonly timeZone: string
  /** Writes results to standard output; after a failure it writes no more. */
  readonly print: (text: string) => void
  /** Waits for the output; returns the error, or null. `EPIPE`: the reader has gone. */
  readonly written: () => Promise<NodeJS.ErrnoException | null>
  /** Writes to standard error: progress, remarks and errors. */
  readonly remark: (text: string) => void
  /** Whether a person reads standard error, and sees progress. */
  readonly isWatched: boolean
  /** Ends the running work; its reason is an `Ended`. */
  readonly signal: AbortSignal
  /** Waits; rejects when the signal ends it. */
  readonly pause: (millis: number) => Promise<void>
  /** The same; returns false early once the reader of standard output has gone. */
  readonly pauseForReader: (millis: number) => Promise<boolean>
  /** Sends a request to the service. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Standard input without the last line's end. A terminal is a usage error, because the program would
 * wait silently.
 */
export const readInput = async ({ input }: Machine, what: string): Promise<string> => {
  if (input === null) throw usageError(`give ${what} on standard input, from a pipe or a file`)
  return (await input()).replace(/\r?\n$/, "")
}
