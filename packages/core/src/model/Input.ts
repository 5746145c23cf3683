/**
 * From unknown input to a value, or to the problems that the answer reports (contract: Errors).
 * Schemas define requests; a check or parser names its catalogue code as its message. Every other
 * failure is `validation_failed` in the schema's words.
 */
import {
  Context,
  Effect,
  Result,
  Schema,
  SchemaAST,
  SchemaIssue,
  SchemaTransformation,
} from "effect"
import { maximumErrors, problem, refuse, refuseAll } from "./Refusal.ts"
import type { Code, Problem, Refusal } from "./Refusal.ts"
import { momentText, parseInstant } from "./Time.ts"
import type { Instant, Moment } from "./Time.ts"

// What the API document says of a schema in addition to the schema itself. It must hold for
// everything the parser accepts: looser is true, stricter is not.

const takesDate = "takesDate"

/** JSON Schema keywords for values that a parser reads, which no schema could tell by itself. */
export interface Described {
  readonly description?: string
  readonly format?: string
  /** An ECMAScript pattern with the `u` flag that every accepted text matches. */
  readonly pattern?: string
  readonly examples?: ReadonlyArray<string>
  /** For text in a query: the JSON Schema of its value. */
  readonly parameter?: Readonly<Record<string, unknown>>
  /** Whether programs may give a date instead; the document does not show it. */
  readonly [takesDate]?: true
}

/** Our own annotations for the document. */
export const describedKeys: ReadonlyArray<string> = ["pattern", "parameter"]

/**
 * A field of a body or an answer, with what a reader should know about it. What a parser reads from
 * text is described where the text is: see `Described`.
 */
export const described = <S extends Schema.Top>(
  schema: S,
  description: string,
  more: { readonly default?: S["Type"] } = {},
): S["Rebuild"] => Schema.annotateKey<S>({ description, ...more })(schema)

/** A command as programs give it: the input of a schema; optional fields may be undefined. */
export type CommandOf<Input> = Input extends string | number | boolean | Date | null | undefined
  ? Input
  : Input extends ReadonlyArray<infer Member>
    ? ReadonlyArray<CommandOf<Member>>
    : {
        readonly [Name in keyof Input]:
          | CommandOf<Input[Name]>
          | (Record<never, never> extends Pick<Input, Name> ? undefined : never)
      }

// Bounds what a decoder examines: it reports every bad member and unknown field, hundreds of
// thousands in a body of 1 MiB. A list's length is checked before its members, and excess unknown
// fields are dropped.

/** How many members a list of a request may have, and how it is refused above that. */
interface ListBound<C extends Code> {
  readonly most: number
  /** `validation_failed` when left out, with a message that names the bound. */
  readonly code?: C
}

/** A code that an input can be refused with: its own, or that of every rule without one. */
type Ruled<C extends Code> = C | "validation_failed"

/** The bounds of a request's lists, by the names of their fields. */
type ListBounds<C extends Code> = Readonly<Record<string, ListBound<C>>>

type Raw = Readonly<Record<string, unknown>>

interface Bounded<C extends Code> {
  /**
   * Without the lists that were too long, without members that are undefined, and without unknown
   * fields beyond those that `errors` can hold. Times are text, as in a body.
   */
  readonly input: Raw
  /** One for each list that was too long; it names the field. */
  readonly problems: ReadonlyArray<Problem<Ruled<C>> & { readonly field: string }>
}

/** Unknown fields that may still be kept. */
interface Allowance {
  left: number
}

/** A value as JSON would have it, without its further unknown fields. */
type Trim = (value: unknown, allowance: Allowance) => unknown

const isRecord = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const leaf: Trim = (value) => value

const trimObject = ({ propertySignatures }: SchemaAST.Objects): Trim => {
  const known = new Map(
    propertySignatures.map(({ name, type }) => [String(name), toTrim(type)] as const),
  )
  return (value, allowance) => {
    if (!isRecord(value)) return value
    const trimmed: Record<string, unknown> = Object.create(null)
    let anyUnknown = false
    for (const name of Object.keys(value)) {
      const trim = known.get(name)
      if (value[name] === undefined) continue
      if (trim !== undefined) {
        trimmed[name] = trim(value[name], allowance)
      } else if (!anyUnknown || allowance.left > 0) {
        // An object keeps one of its unknown fields, to be refused for having them.
        anyUnknown = true
        allowance.left--
        trimmed[name] = value[name]
      }
    }
    return trimmed
  }
}

const trimList = ({ rest }: SchemaAST.Arrays): Trim => {
  const trim = rest[0] === undefined ? leaf : toTrim(rest[0])
  return (value, allowance) =>
    trim === leaf || !Array.isArray(value) ? value : value.map((member) => trim(member, allowance))
}

/** Of a union, the member that takes such a value trims it. */
const toTrim = (ast: SchemaAST.AST): Trim => {
  // If an object's names are the caller's, its own check reports one problem at most.
  if (SchemaAST.isObjects(ast)) return ast.indexSignatures.length > 0 ? leaf : trimObject(ast)
  if (SchemaAST.isArrays(ast)) return trimList(ast)
  if (ast.annotations?.[takesDate] === true) return momentText
  return SchemaAST.isUnion(ast)
    ? (ast.types.map(toTrim).find((trim) => trim !== leaf) ?? leaf)
    : leaf
}

const tooMany = <C extends Code>(field: string, { code, most }: ListBound<C>) => {
  const found: Problem<Ruled<C>> =
    code === undefined
      ? problem("validation_failed", field, `must have at most ${most} members`)
      : problem(code, field)
  return { ...found, field }
}

/** Makes what bounds the inputs of a schema, an object's. */
export const boundedBy = <C extends Code>(schema: Schema.Top, lists: ListBounds<C>) => {
  const trim = toTrim(SchemaAST.toEncoded(schema.ast))
  return (given: Raw): Bounded<C> => {
    const problems = Object.entries(lists).flatMap(([field, bound]) => {
      const value = Object.hasOwn(given, field) ? given[field] : undefined
      return Array.isArray(value) && value.length > bound.most ? [tooMany(field, bound)] : []
    })
    const input =
      problems.length === 0
        ? given
        : Object.fromEntries(
            Object.entries(given).filter(([name]) => !problems.some(({ field }) => field === name)),
          )
    return { input: trim(input, { left: maximumErrors }) as Raw, problems }
  }
}

// What a schema expects, in words for developers: a refusal that only says "no" makes them look it up.

/** The words for each kind that has no values to name. */
const kinds: Readonly<Partial<Record<SchemaAST.AST["_tag"], string>>> = {
  String: "a text",
  Number: "a number",
  Boolean: "true or false",
  Arrays: "a list",
  Objects: "an object",
  Null: "null",
}

const wholeNumber = "a whole number"

/** The words of a check that says all that a value must be, such as "a whole number from 0 to 9". */
const checked = ({ checks }: SchemaAST.AST): string | undefined => {
  for (const { annotations } of checks ?? []) {
    const text = annotations?.["message"]
    if (typeof text === "string" && text.startsWith(`must be ${wholeNumber}`)) {
      return text.slice("must be ".length)
    }
    if (annotations?.["expected"] === "an integer") return wholeNumber
  }
  return undefined
}

/** Each alternative; undefined where one of them has no words. */
const alternatives = (ast: SchemaAST.AST): ReadonlyArray<string> | undefined => {
  if (SchemaAST.isLiteral(ast)) return [JSON.stringify(ast.literal)]
  if (SchemaAST.isUnion(ast)) {
    const all = ast.types.map(alternatives)
    return all.every((one) => one !== undefined) ? all.flat() : undefined
  }
  const text = checked(ast) ?? kinds[ast._tag]
  return text === undefined ? undefined : [text]
}

/** What the schema expects, in words that follow a field's name: `must be "live" or "test"`. */
const expected = (ast: SchemaAST.AST): string => {
  const all = [...new Set(alternatives(SchemaAST.toEncoded(ast)))]
  if (all.length === 0) return "is not an accepted value"
  const last = all.length > 1 ? ` or ${all.at(-1)}` : ""
  return `must be ${all.slice(0, last === "" ? 1 : -1).join(", ")}${last}`
}

// How texts are measured (contract: JSON and text). Loads nothing, so that an import of it costs nothing
// else.

/** The length of a text in code points. A surrogate pair counts once, a lone surrogate too. */
export const codePointLength = (text: string): number => {
  let pairs = 0
  for (let at = 0; at < text.length - 1; at++) {
    if (isHighSurrogate(text.charCodeAt(at)) && isLowSurrogate(text.charCodeAt(at + 1))) pairs++
  }
  return text.length - pairs
}

/**
 * Whether a text is empty or consists of characters with the Unicode property White_Space alone. That is
 * neither what `\s` matches nor what `trim` removes: both take U+FEFF, which has not the property, and miss
 * U+0085, which has it.
 */
export const isBlank = (text: string): boolean => !/\P{White_Space}/u.test(text)

/** Letters added, left out, replaced or swapped between two words. */
export const editDistance = (from: string, to: string): number => {
  let before: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let row = 1; row <= from.length; row++) {
    const next = [row]
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1]
      const isSwap = from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1]
      next[at] = Math.min(
        (last[at] ?? 0) + 1,
        (next[at - 1] ?? 0) + 1,
        (last[at - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (before[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return last[to.length] ?? 0
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** An issue with a code of the catalogue. */
export const refusedAs = (code: Code, path: ReadonlyArray<PropertyKey> = []): SchemaIssue.Issue => {
  const issue = new SchemaIssue.InvalidValue({ message: code })
  return path.length === 0 ? issue : new SchemaIssue.Pointer(path, issue)
}

/** An issue that is `validation_failed`, with a rule that follows the field's name. */
export const refusedFor = (rule: string): SchemaIssue.Issue =>
  new SchemaIssue.InvalidValue({ message: rule })

/**
 * Text that `parse` turns into a value; what it does not understand is refused as `code`. `about` is
 * what the document says of the text.
 */
export const parsed = <A>(
  code: Code,
  parse: (text: string) => A | undefined,
  about: Described = {},
) =>
  decoded(Schema.String.annotate({ ...about }), (text: string): A | SchemaIssue.Issue => {
    const value = parse(text)
    return value === undefined ? refusedAs(code) : value
  })

/** A value made from what `from` decodes, or the issue that says why not. One way: never encoded. */
export const decoded = <S extends Schema.Top, A>(
  from: S,
  decode: (value: S["Type"]) => A | SchemaIssue.Issue,
) =>
  from.pipe(
    Schema.decodeTo(
      Schema.declare<A>((value): value is A => value !== undefined),
      SchemaTransformation.transformEffect<A, S["Type"]>({
        decode: (value) => {
          const result = decode(value)
          return SchemaIssue.isIssue(result) ? Effect.fail(result) : Effect.succeed(result)
        },
        encode: () => Effect.fail(new SchemaIssue.Forbidden({ message: "is only read" })),
      }),
    ),
  )

/** Text of `minimum` to `maximum` Unicode code points. */
export const textBetween = (minimum: number, maximum: number) =>
  Schema.String.check(
    Schema.makeFilter(
      (text) => {
        const length = codePointLength(text)
        return length >= minimum && length <= maximum
          ? undefined
          : `must have ${minimum} to ${maximum} characters`
      },
      {
        // JSON Schema counts code points too.
        toJsonSchema: () =>
          minimum === 0 ? { maxLength: maximum } : { minLength: minimum, maxLength: maximum },
      },
    ),
  )

/** Refuses white space alone. Empty text passes: whether a name may be empty is a matter of its length. */
const notBlank = Schema.makeFilter((name: string) =>
  name !== "" && isBlank(name) ? "must not be blank" : undefined,
)

/** A name that may be empty, of at most `maximum` code points, but not white space alone. */
export const optionalNameUpTo = (maximum: number) => textBetween(0, maximum).check(notBlank)

/** A name of 1 to `maximum` code points that is not white space alone. */
export const nameUpTo = (maximum: number) => textBetween(1, maximum).check(notBlank)

const instantDescribed: Described = {
  description: "ISO 8601 with an offset.",
  // Not the format date-time, which insists on seconds.
  pattern: String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$`,
  examples: ["2030-01-31T09:00:00+02:00"],
  [takesDate]: true,
}

/** Fails on that field where a filter of what has happened begins in the future. */
export const refuseFuture = (
  since: number | null,
  now: number,
  field: string,
): Effect.Effect<void, Refusal<"validation_failed">> =>
  since !== null && since > now
    ? Effect.fail(refuse("validation_failed", { field, message: "must not be in the future" }))
    : Effect.void

/** A time; of a program also a date, which is text by the time that the schema sees it. */
export const InstantInput: Schema.Codec<Instant, Moment> = parsed(
  "invalid_datetime",
  parseInstant,
  instantDescribed,
)

/** A time in a query. */
export const instantParameter = (description: string) =>
  parsed("invalid_datetime", parseInstant, {
    ...instantDescribed,
    description: `${description} ISO 8601 with an offset; write + as %2B.`,
  })

/** A whole number within bounds: one problem, whatever is wrong with it. */
export const integerBetween = (minimum: number, maximum: number) => {
  const message = `must be a whole number from ${minimum} to ${maximum}`
  return Schema.Number.check(
    Schema.isInt({ message }).abort(),
    Schema.isBetween({ minimum, maximum }, { message }),
  )
}

/** A whole number without an upper bound. */
export const integerFrom = (minimum: number) => {
  const message = `must be a whole number, ${minimum} or more`
  return Schema.Number.check(
    Schema.isInt({ message }).abort(),
    Schema.isGreaterThanOrEqualTo(minimum, { message }),
  )
}

/** An id. Whether there is anything of that id, such as of one below zero, is for the store to say. */
export const IdInput = Schema.Int

/** The ids that one call takes. */
export const idsUpTo = (maximum: number) => {
  const message = `must hold 1 to ${maximum.toLocaleString("en")} ids`
  return Schema.Array(IdInput).check(
    Schema.isMinLength(1, { message }),
    Schema.isMaxLength(maximum, { message }),
  )
}

/** A call that acts on many takes them by `ids` or by `filter`, never both. */
export const idsOrFilter = Schema.makeFilter<{
  readonly ids?: unknown
  readonly filter?: unknown
}>(
  ({ filter, ids }) =>
    (ids === undefined) !== (filter === undefined)
      ? undefined
      : "must have exactly one of ids and filter",
  { toJsonSchema: () => ({ oneOf: [{ required: ["ids"] }, { required: ["filter"] }] }) },
)

const pathText = (path: ReadonlyArray<PropertyKey>): string | null => {
  if (path.length === 0) return null
  return path
    .map((key, at) =>
      typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${String(key)}`,
    )
    .join("")
}

interface Found<C extends Code> extends Problem<Ruled<C>> {
  readonly path: ReadonlyArray<PropertyKey>
  readonly unknown: boolean
}

/** If an issue's message is one of `codes`, the problem has that code. */
const collect = <C extends Code>(
  issue: SchemaIssue.Issue,
  codes: ReadonlyArray<C>,
  path: ReadonlyArray<PropertyKey>,
  into: Array<Found<C>>,
): void => {
  const add = (message: string | undefined, unknown = false) => {
    const code = codes.find((known) => known === message)
    const found: Problem<Ruled<C>> =
      code === undefined
        ? problem("validation_failed", pathText(path), message)
        : problem(code, pathText(path))
    into.push({ ...found, path, unknown })
  }
  switch (issue._tag) {
    case "Pointer":
      return collect(issue.issue, codes, [...path, ...issue.path], into)
    case "Composite":
      return issue.issues.forEach((inner) => collect(inner, codes, path, into))
    case "Filter": {
      const text = issue.filter.annotations?.message
      return typeof text === "string" ? add(text) : collect(issue.issue, codes, path, into)
    }
    case "Encoding":
      return collect(issue.issue, codes, path, into)
    case "AnyOf": {
      // Of a union such as "or null", the member that the value was meant for tells most.
      const notifying = issue.issues.filter((inner) => inner._tag !== "InvalidType")
      return notifying.length === 0
        ? add(expected(issue.ast))
        : notifying.forEach((inner) => collect(inner, codes, path, into))
    }
    case "MissingKey":
      return add("is required")
    case "UnexpectedKey":
      return add("is not a known field", true)
    case "InvalidType":
      return add(expected(issue.ast))
    case "InvalidValue":
    case "Forbidden":
      return add(issue.annotations?.message ?? "is not an accepted value")
    default:
      return add("is not an accepted value")
  }
}

/** A field and the objects around it, from the inside out: `to.phone` and `to` for `to[3].phone`. */
const holders = (field: string | null): ReadonlyArray<string> => {
  const names = (field ?? "").replaceAll(/\[\d+\]/g, "").split(".")
  return names.map((_, last) => names.slice(0, names.length - last).join("."))
}

/**
 * The place of the first text with a NUL or half a surrogate pair, which no store accepts. JSON
 * bodies hold none, but queries and programs' commands may. Only for accepted input: its nesting is bounded.
 */
const unfitText = (value: unknown): ReadonlyArray<PropertyKey> | undefined => {
  if (typeof value === "string")
    return value.includes("\0") || !value.isWellFormed() ? [] : undefined
  if (typeof value !== "object" || value === null) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const within = unfitText(value[index])
      if (within !== undefined) return [index, ...within]
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    const within = unfitText((value as Readonly<Record<string, unknown>>)[key])
    if (within !== undefined) return [key, ...within]
  }
  return undefined
}

/** Fails with `validation_failed` on the first text that no store accepts. */
export const requireFitTexts = (
  value: unknown,
): Result.Result<void, Refusal<"validation_failed">> => {
  const unfit = unfitText(value)
  if (unfit === undefined) return Result.void
  const text = "must be well-formed text without NUL"
  return Result.fail(refuseAll(problem("validation_failed", pathText(unfit), text), []))
}

/** The fields of an object, each with those of the object in it: `media`, `media.url`. */
const fieldNames = (ast: SchemaAST.AST, prefix = ""): ReadonlyArray<string> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap((type) => fieldNames(type, prefix))
  if (!SchemaAST.isObjects(ast)) return []
  return ast.propertySignatures.flatMap(({ name, type }) => {
    const field = `${prefix}${String(name)}`
    return [field, ...fieldNames(type, `${field}.`)]
  })
}

/** What is said of input that is not an object; of a command of a program it is said in other words. */
export const bodyRule = "The body must be a JSON object."

/** What the schema of an input does not say. */
interface Rules<C extends Code> {
  /** Codes of the schema and of the rules here, apart from `validation_failed`. */
  readonly codes?: ReadonlyArray<C>
  /** Rules that read several fields of the raw input; they run whether or not the fields decoded. */
  readonly across?: (
    input: Readonly<Record<string, unknown>>,
  ) => ReadonlyArray<Problem<Ruled<NoInfer<C>>>>
  /** Bounds of the lists among the fields: of one that is too long no member is looked at. */
  readonly lists?: ListBounds<NoInfer<C>>
}

/**
 * A decoder for the fields of a body, reporting the problems in the order of the schema's fields,
 * which is that of the operation's field table, and unknown fields last (contract: JSON and text).
 */
export const inputDecoder = <
  S extends Schema.Top & { readonly DecodingServices: never },
  const C extends Code = never,
>(
  schema: S,
  rules: Rules<C> = {},
) => {
  const decode = fieldDecoder(schema, rules)
  return (value: unknown): Result.Result<S["Type"], Refusal<Ruled<C>>> =>
    Result.flatMap(decode(value), (input) => Result.map(requireFitTexts(value), () => input))
}

/** The same without a look at whether texts are well-formed. */
export const fieldDecoder = <
  S extends Schema.Top & { readonly DecodingServices: never },
  const C extends Code = never,
>(
  schema: S,
  { across = () => [], codes = [], lists = {} }: Rules<C> = {},
) => {
  const order = fieldNames(SchemaAST.toEncoded(schema.ast))
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  const bounded = boundedBy(schema, lists)
  /** A problem's place in the order of the answer. */
  const rank = (found: Problem, unknown: boolean) => {
    if (unknown) return order.length
    const known = holders(found.field).find((field) => order.includes(field))
    return known === undefined ? order.length : order.indexOf(known)
  }
  return (value: unknown): Result.Result<S["Type"], Refusal<Ruled<C>>> => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return Result.fail(refuseAll(problem("validation_failed", null, bodyRule), []))
    }
    const { input, problems } = bounded(value as Readonly<Record<string, unknown>>)
    const result = decode(input)
    const found: Array<Found<C>> = []
    if (Result.isFailure(result)) collect(result.failure.issue, codes, [], found)
    const placed = (each: Problem<Ruled<C>>, unknown = false) => ({
      each,
      rank: rank(each, unknown),
    })
    const ranked = [
      ...problems.map((each) => placed(each)),
      ...found
        // A list that was left out is not missing.
        .filter(({ path }) => !problems.some(({ field }) => field === path[0]))
        .map((each) => placed(each, each.unknown)),
      ...across(input).map((each) => placed(each)),
    ].toSorted((a, b) => a.rank - b.rank)
    const [first, ...rest] = ranked.map(({ each }) => problem(each.code, each.field, each.message))
    if (first !== undefined) return Result.fail(refuseAll(first, rest))
    return Result.mapError(result, () => refuseAll(problem("validation_failed", null), []))
  }
}

/**
 * Where the service is reached from outside (`PUBLIC_URL`; contract: Configuration): the origin that
 * links begin with, without a slash at its end. Answers and events carry links, so the server and the
 * worker are given the same.
 */
export const PublicUrl = Context.Reference<string>("core/PublicUrl", {
  defaultValue: () => "http://127.0.0.1:8080",
})

/**
 * One text for all spellings of a value: keys in code unit order, no white space. Two bodies that mean the same have the
 * same canonical text, which idempotency fingerprints rest on. Fields that are undefined are left out,
 * and dates are their text.
 */
export const canonicalJson = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    // Not JSON.stringify: it writes the infinity that 1e400 is read as like null.
    case "number":
    case "boolean":
      return String(value)
  }
  if (typeof value !== "object" || value === null) return "null"
  if (value instanceof Date) return canonicalJson(momentText(value))
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(",")}}`
}
