/**
 * JSON Schemas of the core's schemas, as OpenAPI 3.1 takes them. Those with a name stand once among
 * the components and are referred to everywhere else.
 */
import { describedKeys } from "@messaging-service/core"
import { Schema } from "effect"
import type { JsonSchema } from "effect"
import type { AnySchema, JsonObject } from "./Operation.ts"

/** Requests may hold nothing but what is described; answers may come to hold more. */
export type Direction = "request" | "answer"

export interface JsonSchemas {
  readonly of: (schema: AnySchema, direction: Direction) => JsonObject
  /** What was referred to so far, by name. */
  readonly components: Readonly<Record<string, JsonObject>>
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Keywords that say the same when they stand one level higher. */
const isMovable = (outer: JsonObject, inner: JsonObject): boolean =>
  !("$ref" in inner) &&
  Object.keys(inner).every((key) => !(key in outer) || key === "description" || key === "default")

/** `allOf` with one member that adds to what stands beside it is that, written together. */
const withoutLoneAllOf = (schema: JsonObject): JsonObject => {
  const { allOf, ...outer } = schema
  if (!Array.isArray(allOf) || allOf.length === 0) return schema
  // Of a named schema, a note about one use of it may stand beside the reference.
  const members: ReadonlyArray<JsonObject> = allOf.filter(isObject)
  const merged = members.reduce<JsonObject | undefined>(
    (into, member) =>
      into !== undefined && (isMovable(into, member) || Object.keys(into).length === 0)
        ? { ...into, ...member }
        : undefined,
    outer,
  )
  return merged ?? schema
}

/** A type "or null", written as the list of its types. */
const withNullAsType = (schema: JsonObject): JsonObject => {
  const { anyOf, ...outer } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [value, nothing]: ReadonlyArray<unknown> = anyOf
  if (!isObject(value) || !isObject(nothing) || nothing["type"] !== "null") return schema
  if (typeof value["type"] !== "string" || !isMovable(value, outer)) return schema
  const { enum: values } = value
  return {
    ...value,
    ...outer,
    type: [value["type"], "null"],
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
  }
}

/** Keywords that add nothing: integers that JSON can hold exactly, and room for more fields. */
const withoutDefaults = (schema: JsonObject): JsonObject => {
  const { additionalProperties, maximum, minimum, ...rest } = schema
  return {
    ...rest,
    ...(additionalProperties === undefined || additionalProperties === true
      ? {}
      : { additionalProperties }),
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  }
}

/** A list of at least one is said by its length alone. */
const withoutFirstItem = (schema: JsonObject): JsonObject => {
  const { prefixItems, ...rest } = schema
  return Array.isArray(prefixItems) &&
    prefixItems.length === 1 &&
    JSON.stringify(prefixItems[0]) === JSON.stringify(rest["items"])
    ? rest
    : schema
}

const tidied = (schema: JsonObject): JsonObject =>
  withNullAsType(withoutLoneAllOf(withoutFirstItem(withoutDefaults(schema))))

/** The schema and all within it; what is data and no schema is left as it is. */
const tidy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(tidy)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => {
    if (key === "properties" && isObject(inner)) {
      return [key, Object.fromEntries(Object.entries(inner).map(([name, of]) => [name, tidy(of)]))]
    }
    if (key === "$ref" && typeof inner === "string") {
      return [key, inner.replace(/^#\/\$defs\//, "#/components/schemas/")]
    }
    return ["enum", "examples", "default", "required"].includes(key)
      ? [key, inner]
      : [key, tidy(inner)]
  })
  return tidied(Object.fromEntries(entries) as JsonObject)
}

const pointed = (schema: JsonSchema.JsonSchema): JsonObject => tidy(schema) as JsonObject

/** Begins with no components. */
export const makeJsonSchemas = (): JsonSchemas => {
  const components: Record<string, JsonObject> = {}
  return {
    components,
    of: (schema, direction) => {
      if ("json" in schema) return schema.json
      const document = Schema.toJsonSchemaDocument(schema.effect, {
        onExcessProperty: direction === "request" ? "error" : "ignore",
        includeAnnotationKey: (key) => describedKeys.includes(key),
      })
      for (const [name, definition] of Object.entries(document.definitions)) {
        components[name] ??= pointed(definition)
      }
      return pointed(document.schema)
    },
  }
}
