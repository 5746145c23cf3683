/**
 * The functions inside the database: one for each operation that takes several statements, so that it
 * costs one round trip, and the rules that they share. Each build of the service has them in a schema of
 * its own, named by a digest of their texts. Processes of different builds that share a database call the
 * very texts that they were built with, and a text that is installed never changes.
 */
import { createHash } from "node:crypto"
import { sqlFiles } from "../sql.generated.ts"

export interface Build {
  readonly digest: string
  /** In the order in which they are run. */
  readonly texts: ReadonlyArray<string>
}

export const makeBuild = (texts: ReadonlyArray<string>): Build => ({
  digest: createHash("sha256").update(texts.join("\n")).digest("hex").slice(0, 8),
  texts,
})

const functions = Object.entries(sqlFiles).flatMap(([file, text]) =>
  file.startsWith("functions/") ? text : [],
)

export const thisBuild = makeBuild([sqlFiles["rules.sql"], ...functions])

/** The names of this build's functions. */
export const functionNames: ReadonlyArray<string> = thisBuild.texts.flatMap((text) =>
  Array.from(text.matchAll(/create function (\w+)/g), ([, name = ""]) => name),
)

/** The schema of the build's functions, for the service with its tables in that one. */
export const codeSchema = (schema: string, { digest }: Build = thisBuild): string =>
  `${schema}_${digest}`
