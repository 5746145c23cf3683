/** How the program ends: its exit codes, and the error that carries one. */
import { MessagingError } from "@messaging-service/client"

/** The exit codes and their meanings. Scripts branch on them, so they never change. */
export const endings = {
  done: [0, "Success."],
  fault: [1, "Internal error of the program."],
  usage: [2, "The command, an option, a file or the configuration is wrong. No request was sent."],
  refused: [3, "The service refused the request."],
  notAllowed: [4, "The key or the token is missing, wrong or may not do this."],
  notFound: [5, "The named record does not exist."],
  unavailable: [6, "The service is unreachable, rate limiting or failing; try again later."],
  failed: [7, "The awaited work did not end as requested."],
  unwritten: [8, "The work succeeded, but not all results could be written to standard output."],
  interrupted: [130, "Interrupted (Ctrl-C, SIGINT)."],
  terminated: [143, "Terminated (SIGTERM)."],
} as const satisfies Readonly<Record<string, readonly [code: number, meaning: string]>>

export type Ending = keyof typeof endings

export const exitCode = (ending: Ending): number => endings[ending][0]

/** Ends the program with that exit code and line. */
export class Ended extends Error {
  override readonly name = "Ended"
  readonly ending: Ending

  constructor(ending: Ending, message: string) {
    super(message)
    this.ending = ending
  }
}

/** The command, an option or the configuration is wrong. */
export const usageError = (message: string): Ended => new Ended("usage", message)

/** Exit code after a signal: 128 and the signal's number, as in shells. */
export const endedBySignal = (signal: "SIGINT" | "SIGTERM"): Ended =>
  new Ended(signal === "SIGINT" ? "interrupted" : "terminated", "interrupted")

/**
 * Runs interruptible work. After a signal it reports what continues without the program, or may have
 * taken effect.
 */
export const interruptible = async <A>(
  signal: AbortSignal,
  goesOn: () => string | undefined,
  work: () => Promise<A> | A,
): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    const ended: unknown = signal.reason
    // Another reason, or an own report, takes precedence.
    if (!(ended instanceof Ended) || (error instanceof Ended && error !== ended)) throw error
    const more = goesOn()
    throw more === undefined ? ended : new Ended(ended.ending, `${ended.message}; ${more}`)
  }
}

/** The end of the program after a refused request. */
export const toEnding = ({ code, status }: MessagingError): Ending => {
  // The response of a wrong url or a proxy says nothing about the named thing.
  if (code === "no_answer" || code === "timeout" || code === "unexpected_answer") {
    return "unavailable"
  }
  // The client refused it, and sent no request.
  if (status === null) return "usage"
  if (status === 429 || status >= 500) return "unavailable"
  if (status === 401 || status === 403) return "notAllowed"
  return status === 404 ? "notFound" : "refused"
}
