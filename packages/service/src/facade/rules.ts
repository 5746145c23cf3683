/**
 * Rules for the facade's arguments other than commands: options, trust, settings. They reject a
 * misspelt name and a wrong value: neither may act as the default.
 */
import { editDistance, refuse } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { Data } from "effect"
import type { TextSetting } from "../compose/Settings.ts"

/** One problem: the field, and the words that follow its name. */
export interface Violation {
  readonly field: string
  readonly rule: string
}

/** Problems with the value of `field`; usually none. */
export type Rule = (value: unknown, field: string) => ReadonlyArray<Violation>

/** A rule for every name of a type: a missing one does not compile. */
type RulesOf<A> = { readonly [Name in keyof A]-?: Rule }

/** A rule for a value; `rule` follows "must be". */
export const must =
  (rule: string, holds: (value: unknown) => boolean): Rule =>
  (value, field) =>
    holds(value) ? [] : [{ field, rule: `must be ${rule}` }]

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isText = (value: unknown): value is string => typeof value === "string"

export const isFunction = (value: unknown): boolean => typeof value === "function"

export const anything: Rule = () => []

export const trueOrFalse = must("true or false", (value) => typeof value === "boolean")

export const text = must("a text", isText)

export const someText = must("a non-blank text", (value) => isText(value) && value.trim() !== "")

/** A text that a setting's parser accepts. */
export const textFor = ({ parse, rule }: TextSetting<unknown>): Rule =>
  must(rule, (value) => isText(value) && parse(value) !== undefined)

export const oneOf = (...values: ReadonlyArray<string>): Rule =>
  must(
    alternatives(values.map((value) => JSON.stringify(value))),
    (value) => isText(value) && values.includes(value),
  )

const alternatives = (names: ReadonlyArray<string>): string =>
  names.length === 1 ? names.join() : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`

export const listOf = (rule: string, holds: (item: unknown) => boolean): Rule =>
  must(rule, (value) => Array.isArray(value) && value.every(holds))

export const wholeNumber = (min: number, max: number): Rule =>
  must(
    `a whole number from ${min} to ${max}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
  )

/** Timers cannot wait longer. */
const maxMillis = 2 ** 31 - 1

export const millis = must(
  `a number of milliseconds from 0 to ${maxMillis}`,
  (value) => typeof value === "number" && value >= 0 && value <= maxMillis,
)

/** Names that differ in more than a third of their letters are not suggested. */
const isNear = (letters: number, name: string) => letters <= Math.max(1, name.length / 3)

/** The known name that a misspelt one resembles; undefined without one. */
const nearest = (name: string, known: ReadonlyArray<string>): string | undefined => {
  const plain = (spelt: string) => spelt.replaceAll(/[_-]/g, "").toLowerCase()
  const [first] = known
    .map((one) => ({ one, letters: editDistance(plain(name), plain(one)) }))
    .toSorted((a, b) => a.letters - b.letters)
  return first !== undefined && isNear(first.letters, first.one) ? first.one : undefined
}

/** Cuts longer names before comparing, to bound the time. */
const longestName = 100

/** An object with exactly these names; optional ones may be missing. */
export const fields =
  <A>(rules: RulesOf<A>, required: ReadonlyArray<keyof A & string> = []): Rule =>
  (value, field) => {
    if (!isObject(value))
      return [{ field: field === "" ? "options" : field, rule: "must be an object" }]
    const at = (name: string) => (field === "" ? name : `${field}.${name}`)
    const known = Object.keys(rules)
    const wrong = Object.entries<Rule>(rules).flatMap(([name, rule]) =>
      value[name] === undefined && !(required as ReadonlyArray<string>).includes(name)
        ? []
        : rule(value[name], at(name)),
    )
    const unknown = Object.keys(value).filter((name) => !known.includes(name))
    return [
      ...wrong,
      ...unknown.map((name) => {
        const near = nearest(name.slice(0, longestName), known)
        const advice =
          near === undefined ? `there is ${known.join(", ")}` : `did you mean ${at(near)}?`
        return { field: at(name), rule: `is not known here; ${advice}` }
      }),
    ]
  }

/** Options that `open` refuses. */
export class InvalidOptions extends Data.TaggedError("InvalidOptions")<{
  readonly first: Violation
  readonly others: ReadonlyArray<Violation>
}> {}

/** Problems with the options of `open`; undefined when there are none. */
export const invalidOptions = (rule: Rule, options: unknown): InvalidOptions | undefined => {
  const [first, ...others] = rule(options, "")
  return first === undefined ? undefined : new InvalidOptions({ first, others })
}

/** The refusal of a call's arguments; undefined for valid or missing ones. */
export const checkRule = (rule: Rule, value: unknown, field = ""): Refusal | undefined => {
  const [first, ...others] = (value === undefined ? [] : rule(value, field)).map((wrong) => ({
    code: "validation_failed" as const,
    field: wrong.field,
    message: wrong.rule,
  }))
  return first === undefined ? undefined : refuse(first.code, { ...first, errors: others })
}
