/** What commands take from standard input. */
import { usageError } from "../ending.ts"
import type { Machine } from "../Machine.ts"

/** The whole of it without the end of its last line; a terminal, which would wait without a word, is a usage error. */
export const inputOf = async ({ input }: Machine, what: string): Promise<string> => {
  if (input === null) throw usageError(`give ${what} on standard input, from a pipe or a file`)
  return (await input()).replace(/\r?\n$/, "")
}
