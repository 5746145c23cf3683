/**
 * How JSON spells the core's names, by one rule: `sendAt` is `send_at`, and `jitterMillis` is
 * `jitter_ms`. Bodies and queries are read by it, answers and refusals are written by it, and the API
 * document takes its names from it. Names of one word are the same on both sides.
 */
import type { JsonValue } from "./StrictJson.ts"

type Snake<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name

/** JSON's spelling of a name. */
type JsonName<Name> = Name extends `${infer Start}Millis` ? `${Snake<Start>}_ms` : Snake<Name>

type Plain = string | number | boolean | Date | null | undefined

/** A value of the core with JSON's names. */
export type InJson<A> = A extends Plain
  ? A
  : A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<InJson<Item>>
    : {
        [Name in keyof A as JsonName<Name>]: InJson<A[Name]>
      }

const camel = /^[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+$/
const snake = /^[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)+$/

/**
 * Converts each case to the other, so that a name is reported as it was sent. A camelCase key in JSON
 * becomes a name that the core does not know, and is refused.
 */
const swapCase = (name: string): string => {
  if (camel.test(name)) return jsonName(name)
  if (!snake.test(name)) return name
  const own = name.replaceAll(/_./g, (joint) => joint.charAt(1).toUpperCase())
  return swapEnding(own, "Millis", "Ms")
}

/** The name with one of two endings replaced by the other. */
const swapEnding = (name: string, one: string, other: string): string => {
  if (name.endsWith(one)) return `${name.slice(0, -one.length)}${other}`
  return name.endsWith(other) ? `${name.slice(0, -other.length)}${one}` : name
}

/** JSON's spelling of the core's name. */
export const jsonName = (name: string): string =>
  swapEnding(name, "Millis", "Ms").replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The field with keys of the caller's own, which stay as they are. */
const userKeyedField = "values"

/** JSON with the core's names. */
export const camelizeKeys = (value: JsonValue): JsonValue => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(camelizeKeys)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      name === userKeyedField ? [name, member] : [swapCase(name), camelizeKeys(member)],
    ),
  )
}

/** A field's path as the request spelled it, such as `to[3].contact_id`. */
export const toRequestField = (field: string): string => {
  const [own = "", ...free] = field.split(new RegExp(`(?<=(?:^|\\.)${userKeyedField})\\.`))
  return [own.replaceAll(/[^.[\]]+/g, swapCase), ...free].join(".")
}
