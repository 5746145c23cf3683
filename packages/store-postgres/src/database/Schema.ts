/**
 * The schema that everything of the service lives in. Texts are written without it; each is qualified
 * before it is sent, so that it means the same whatever the `search_path` of a connection is: a pool or
 * a transaction may be the host's.
 *
 * A relation is known where it follows a word that a relation follows, a function of this build by its
 * name; in TypeScript it is written `:code.claim_lanes`.
 */
import { sqlFiles } from "../sql.generated.ts"
import { codeSchema, functionNames } from "./build.ts"

/** Every table. */
export const relations: ReadonlyArray<string> = Array.from(
  sqlFiles["schema.sql"].matchAll(/create (?:unlogged )?table (\w+)/g),
  ([, name = ""]) => name,
).toSorted()

/** Where the tables are when no schema is named. */
export const defaultSchema = "messaging"

/** What the name of a schema must be, behind "must be". */
export const schemaNameRule = "1 to 40 of a-z, 0-9 and _, beginning with no digit and not with pg_"

/** Names that need no thought in any place, and leave room in the name of a channel. */
export const isSchemaName = (name: string): boolean => /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/.test(name)

const relation = `(?:${relations.join("|")})\\b(?!\\s*\\.)`

const known = new RegExp(
  [
    String.raw`(?<=\b(?:from|join|update|into|only|table|using|setof)\s+)${relation}`,
    String.raw`(?<=\bset constraints\s+)\w+`,
    String.raw`(?<=\bnextval\(')\w+(?='\))`,
  ].join("|"),
  "g",
)

const functions = new RegExp(`(?::code\\.|(?<![\\w."]))(${functionNames.join("|")})(?=\\()`, "g")

/** More different texts than the service has; those of lists are composed, of few parts. */
const storedTexts = 5_000

/** Puts the schema before every name of the service that a text says without one. */
export const qualifier = (schema: string): ((text: string) => string) => {
  const done = new Map<string, string>()
  return (text) => {
    // Files that make tables and functions run under a search path.
    if (text.startsWith("do $sql$")) return text
    const before = done.get(text)
    if (before !== undefined) return before
    if (done.size >= storedTexts) done.clear()
    const qualified = text
      .replaceAll(known, `"${schema}".$&`)
      .replaceAll(functions, `"${codeSchema(schema)}".$1`)
    done.set(text, qualified)
    return qualified
  }
}

/** Where a start finds itself. */
export const surroundings = `
select
  current_setting('server_version') as version,
  current_setting('server_version_num')::integer as number,
  pg_is_in_recovery() as "isStandby",
  current_setting('transaction_read_only')::boolean as "isReadOnly",
  current_setting('server_encoding') as encoding,
  current_setting('plan_cache_mode') as "planCacheMode"`

export interface Surroundings {
  readonly version: string
  readonly number: number
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly encoding: string
  readonly planCacheMode: string
}

/** What processes on that schema say to one another. */
export const workChannel = (schema: string): string => `messaging_service_work_${schema}`
