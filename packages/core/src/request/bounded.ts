/**
 * What a decoder may be given to look at. It makes an issue of every bad member and every unknown
 * field, so a body of 1 MiB could make hundreds of thousands of them: here the length of a list is
 * judged before its members, and unknown fields beyond those that are reported are left out.
 */
import { SchemaAST } from "effect"
import type { Schema } from "effect"
import type { Code } from "../error/Catalogue.ts"
import { maximumErrors, problem } from "../error/Refusal.ts"
import type { Problem } from "../error/Refusal.ts"

/** How many members a list of a request may have, and how it is refused above that. */
export interface ListBound {
  readonly most: number
  /** `validation_failed` when left out, with a message that names the bound. */
  readonly code?: Code
}

/** The bounds of a request's lists, by the names of their fields. */
export type ListBounds = Readonly<Record<string, ListBound>>

type Raw = Readonly<Record<string, unknown>>

interface Bounded {
  /**
   * Without the lists that were too long, and without unknown fields beyond those that `errors` can
   * hold.
   */
  readonly input: Raw
  /** One for each list that was too long, whose field it names. */
  readonly problems: ReadonlyArray<Problem & { readonly field: string }>
}

/** Unknown fields that may still be kept. */
interface Allowance {
  left: number
}

/** A value without its further unknown fields; the value itself when it has none. */
type Trim = (value: unknown, allowance: Allowance) => unknown

const isRecord = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const unchanged: Trim = (value) => value

const trimObject = ({ propertySignatures }: SchemaAST.Objects): Trim => {
  const known = new Map(
    propertySignatures.map(({ name, type }) => [String(name), trimOf(type)] as const),
  )
  return (value, allowance) => {
    if (!isRecord(value)) return value
    const kept: Record<string, unknown> = Object.create(null)
    let anyUnknown = false
    for (const name of Object.keys(value)) {
      const trim = known.get(name)
      if (trim !== undefined) {
        kept[name] = trim(value[name], allowance)
      } else if (!anyUnknown || allowance.left > 0) {
        // An object keeps one of its unknown fields, so that it is refused for having them.
        anyUnknown = true
        allowance.left--
        kept[name] = value[name]
      }
    }
    return kept
  }
}

const trimList = ({ rest }: SchemaAST.Arrays): Trim => {
  const trim = rest[0] === undefined ? unchanged : trimOf(rest[0])
  return (value, allowance) =>
    trim === unchanged || !Array.isArray(value)
      ? value
      : value.map((member) => trim(member, allowance))
}

/** Of a union, the member that takes such a value trims it. */
const trimOf = (ast: SchemaAST.AST): Trim => {
  if (SchemaAST.isObjects(ast)) return trimObject(ast)
  if (SchemaAST.isArrays(ast)) return trimList(ast)
  return SchemaAST.isUnion(ast)
    ? (ast.types.map(trimOf).find((trim) => trim !== unchanged) ?? unchanged)
    : unchanged
}

const tooMany = (field: string, { code, most }: ListBound) => ({
  ...(code === undefined
    ? problem("validation_failed", field, `must have at most ${most} members`)
    : problem(code, field)),
  field,
})

/** Makes what bounds the inputs of a schema, an object's. */
export const boundedBy = (schema: Schema.Top, lists: ListBounds) => {
  const trim = trimOf(SchemaAST.toEncoded(schema.ast))
  return (given: Raw): Bounded => {
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
