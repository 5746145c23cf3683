/**
 * Two spellings of one name: the core's commands say `send_at` like request bodies, the facade says
 * `sendAt`. Everything between them passes through here, including the field names of errors.
 */
import { catalogue } from "@messaging-service/core"
import type { Brand } from "effect"

/** `send_at` as `sendAt`, and `jitter_ms` as `jitterMillis`. */
type CamelName<Name> = Name extends `${infer Head}_ms`
  ? `${CamelName<Head>}Millis`
  : Name extends `${infer Head}_${infer Tail}`
    ? `${Head}${Capitalize<CamelName<Tail>>}`
    : Name

type Plain = string | number | bigint | boolean | null | undefined | Date

/** A value of the core with the facade's names, and ids as plain numbers. */
export type Camel<A> =
  A extends Brand.Brand<infer _>
    ? Brand.Brand.Unbranded<A>
    : A extends Plain
      ? A
      : A extends ReadonlyArray<infer Item>
        ? ReadonlyArray<Camel<Item>>
        : { [Name in keyof A as CamelName<Name>]: Camel<A[Name]> }

const camelName = (name: string): string =>
  name
    .replace(/_ms$/, "_millis")
    .replaceAll(/_([a-z0-9_])/g, (_, letter: string) => letter.toUpperCase())

/**
 * A name with an underscore is not the facade's: doubling the underscore makes it unknown everywhere.
 */
const snakeName = (name: string): string =>
  name
    .replaceAll("_", "__")
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replace(/_millis$/, "_ms")

/** No valid command nests deeper; a deeper value passes unchanged, and the core refuses it. */
const deepest = 8

const renamed = (value: unknown, rename: (name: string) => string, depth: number): unknown => {
  if (typeof value !== "object" || value === null || depth > deepest) return value
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename, depth + 1))
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? "" : value.toISOString()
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === undefined ? [] : [[rename(name), renamed(member, rename, depth + 1)]],
    ),
  )
}

/** A value of the core as the facade shows it; a `Date` becomes text. */
export const camelised = <A>(value: A): Camel<A> => renamed(value, camelName, 0) as Camel<A>

/**
 * Arguments of the facade as the body of the equivalent request. They may be anything; the core
 * validates them.
 */
export const bodyOf = <Command>(given: unknown): Command => renamed(given, snakeName, 0) as Command

/** The path of a field, such as `to[3].contactId`. */
export const shownField = (field: string): string => camelName(field)

/** A text for developers with fields in the facade's spelling. Quoted values stay unchanged. */
export const shownText = (text: string): string =>
  text.replaceAll(/"[^"]*"|\b[a-z]+(?:_[a-z0-9]+)+\b/g, (name) =>
    name.startsWith('"') || Object.hasOwn(catalogue, name) ? name : camelName(name),
  )
