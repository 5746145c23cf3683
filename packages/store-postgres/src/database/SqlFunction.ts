/**
 * Functions inside the database: one for each operation that takes several statements, so that it
 * costs one round trip. A function's name ends with a digest of its text. Processes of different
 * versions that share a database so each call the very text they were built with, and a text that
 * is installed never changes.
 */
import { createHash } from "node:crypto"

export interface SqlFunction {
  readonly name: string
  /** The `create function` statement. */
  readonly create: string
}

/**
 * `definition` is what follows the name: parameters, result, language and body. What it says of
 * another function goes by that function's full name, so that a change there changes this one too.
 */
export const sqlFunction = (name: string, definition: string): SqlFunction => {
  const digest = createHash("sha256").update(definition).digest("hex").slice(0, 8)
  const fullName = `${name}_${digest}`
  return { name: fullName, create: `create function ${fullName} ${definition}` }
}

/** The core's constants, such as the names of states, as literals: `'cancelled', 'expired'`. */
export const literals = (names: ReadonlyArray<string>): string =>
  names.map((name) => `'${name}'`).join(", ")
