/**
 * Reads environment variables: each is a text that its parser accepts or rejects. It reads all before
 * anything starts, and reports all problems in one line.
 */
import { decoded } from "@messaging-service/core"
import { Effect, Schema, SchemaIssue } from "effect"
import { CannotStart } from "./CannotStart.ts"

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A variable that may be unset. `rule` completes the sentence "<variable> must be …". */
export const variable = <A>(rule: string, parse: (text: string) => A | undefined) =>
  Schema.optionalKey(
    decoded(Schema.String, (text): A | SchemaIssue.Issue => {
      const value = parse(text)
      return value === undefined ? new SchemaIssue.InvalidValue({ message: rule }) : value
    }),
  )

/** A variable that accepts one of these words. */
export const oneOf = <const Word extends string>(...words: ReadonlyArray<Word>) =>
  variable(`${words.slice(0, -1).join(", ")} or ${words.at(-1)}`, (text) =>
    words.find((word) => word === text),
  )

/** A variable that is `true` or `false`. */
export const trueOrFalse = variable("true or false", (text) =>
  text === "true" ? true : text === "false" ? false : undefined,
)

/** A variable that accepts a whole number within bounds. */
export const wholeNumber = (min: number, max: number) =>
  variable(`a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  })

const unitBytes: Readonly<Record<string, number>> = {
  "": 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
}

const parseByteSize = (text: string): number | undefined => {
  const [, digits, unit = ""] = /^(\d{1,15})(KiB|MiB|GiB|TiB)?$/.exec(text) ?? []
  const bytes = Number(digits) * (unitBytes[unit] ?? Number.NaN)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** A number of bytes, with an optional unit of 1,024. */
export const byteSize = variable(
  "a size such as 512MiB or 1GiB, or a number of bytes",
  parseByteSize,
)

/** Parsed values of a set of variables. */
export type VariablesOf<Fields extends Schema.Struct.Fields> = Schema.Struct<Fields>["Type"]

/**
 * Reads variables. An empty one counts as unset; those of other programs do not matter. Fails with one
 * line that names each variable with a wrong value.
 */
export const readVariables = <const Fields extends Schema.Struct.Fields>(
  fields: Fields,
  environment: Environment,
): Effect.Effect<VariablesOf<Fields>, CannotStart> => {
  const input = Object.fromEntries(
    Object.keys(fields).flatMap((name) => {
      const value = environment[name]
      return value === undefined || value === "" ? [] : [[name, value]]
    }),
  )
  return Schema.decodeUnknownEffect(
    Schema.Struct(fields) as Schema.Struct<Fields> & { readonly DecodingServices: never },
    { errors: "all" },
  )(input).pipe(Effect.mapError((error) => new CannotStart({ message: complaint(error.issue) })))
}

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const complaint = (issue: SchemaIssue.Issue): string =>
  formatIssues(issue)
    .issues.map(({ message, path }) => `${String(path?.[0])} must be ${message}`)
    .join("; ")
