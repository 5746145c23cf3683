/**
 * The OpenAPI 3.1 document, generated from the parts of the interface. Effect's generator needs an
 * `HttpApi`, and our tables of routes are not one (see `RouteTable.ts`).
 */
import { describedKeys } from "@messaging-service/core"
import { Schema } from "effect"
import type { JsonSchema } from "effect"
import { jsonName } from "../JsonNames.ts"
import type {
  Answer,
  AnySchema,
  Call,
  Content,
  DescribedPart,
  Header,
  JsonObject,
  Operation,
} from "./Operation.ts"

interface OpenApiInput {
  readonly title: string
  readonly version: string
  readonly description: string
  /** The origin of the service. */
  readonly publicUrl: string
  readonly parts: ReadonlyArray<DescribedPart>
  readonly calls: ReadonlyArray<Call>
  /** Answers possible at any path, by name. */
  readonly anywhere: Readonly<Record<string, Answer | undefined>>
  /** Schemas that others refer to by name. */
  readonly schemas: Readonly<Record<string, JsonObject>>
}

/**
 * Names what repeats in many places: the first gets the plain name, others with the same name and
 * different content get a number.
 */
const makeComponents = (kind: string) => {
  const made: Record<string, JsonObject> = {}
  const names = new Map<string, string>()
  const refer = (query: string, component: JsonObject): JsonObject => {
    const text = JSON.stringify(component)
    let name = names.get(text)
    if (name === undefined) {
      name = query
      for (let next = 2; name in made; next++) name = `${query}_${next}`
      made[name] = component
      names.set(text, name)
    }
    return { $ref: `#/components/${kind}/${name}` }
  }
  return { made, refer }
}

/** Shared parts of the document. */
interface Shared {
  readonly schemas: JsonSchemas
  readonly headers: ReturnType<typeof makeComponents>
  readonly parameters: ReturnType<typeof makeComponents>
  readonly responses: ReturnType<typeof makeComponents>
}

/** A record with the same names and mapped values. */
const mapped = <A, B>(record: Readonly<Record<string, A>>, make: (value: A) => B) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value)]))

const contentJson = ({ schemas }: Shared, content: Content, direction: Direction): JsonObject =>
  mapped(content, ({ examples, schema }) => ({
    schema: schemas.of(schema, direction),
    examples: examples && mapped(examples, (value) => ({ value })),
  }))

const answerJson = (shared: Shared, answer: Answer): JsonObject => ({
  description: answer.description,
  headers:
    answer.headers.length === 0
      ? undefined
      : Object.fromEntries(
          answer.headers.map(({ description, name, schema }) => [
            name,
            shared.headers.refer(name, { description, schema }),
          ]),
        ),
  content: answer.content && contentJson(shared, answer.content, "answer"),
})

/** Errors repeat from operation to operation; success bodies do not. */
const answersJson = (shared: Shared, answers: ReadonlyArray<Answer>, group: string): JsonObject =>
  Object.fromEntries(
    answers.map((answer) => {
      const json = answerJson(shared, answer)
      return [
        String(answer.status),
        answer.status < 400 ? json : shared.responses.refer(`${group}_${answer.status}`, json),
      ]
    }),
  )

const pathParameters = ({ parameters, path }: Operation): ReadonlyArray<JsonObject> =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...(parameters?.[name] ?? { schema: { type: "integer", minimum: 1 } }),
  }))

const headerParameter = (shared: Shared, { description, name, schema }: Header): JsonObject =>
  shared.parameters.refer(name, { name, in: "header", description, schema })

/** The fields of the query's struct, each a parameter. */
const queryParameters = (shared: Shared, { query }: Operation): ReadonlyArray<JsonObject> => {
  if (query === undefined) return []
  const struct = shared.schemas.of({ effect: query }, "request")
  const required = (struct["required"] ?? []) as ReadonlyArray<string>
  const properties = (struct["properties"] ?? {}) as Readonly<Record<string, JsonObject>>
  return Object.entries(properties).map(([name, property]) => {
    const { description, parameter, ...text } = property
    const schema = (parameter ?? text) as JsonObject
    return {
      name,
      in: "query",
      description,
      required: required.includes(name) || undefined,
      // One parameter holds several values, separated by commas.
      ...(schema["type"] === "array" ? { style: "form", explode: false } : {}),
      schema,
    }
  })
}

const toGroup = (name: string): string => name.replaceAll(/[^A-Za-z0-9]+/g, "")

const operationJson = (shared: Shared, part: string, operation: Operation): JsonObject => ({
  operationId: operation.id,
  tags: [operation.tag],
  summary: operation.summary,
  description: operation.about,
  security: operation.security.map((name) => (name === null ? {} : { [name]: [] })),
  parameters: [
    ...pathParameters(operation),
    ...queryParameters(shared, operation),
    ...operation.headers.map((header) => headerParameter(shared, header)),
  ],
  requestBody: operation.body && {
    required: operation.body.required,
    content: contentJson(shared, operation.body.content, "request"),
  },
  responses: answersJson(shared, operation.answers, toGroup(part)),
  callbacks:
    operation.callbacks &&
    // Without ids of their own: several operations cause the same call.
    Object.fromEntries(
      Object.entries(operation.callbacks).map(([field, call]) => [
        call.name,
        { [`{$request.body#/${field}}`]: { post: callJson(shared, call) } },
      ]),
    ),
})

const pathsJson = (shared: Shared, parts: ReadonlyArray<DescribedPart>): JsonObject => {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const { name, operations } of parts) {
    for (const operation of operations) {
      paths[operation.path] ??= {}
      const item = paths[operation.path] ?? {}
      item[operation.method.toLowerCase()] = operationJson(shared, name, operation)
    }
  }
  return paths
}

/** Properties common to webhook and callback calls. */
const callJson = (shared: Shared, call: Call): JsonObject => ({
  tags: [call.tag],
  summary: call.summary,
  description: call.about,
  // The signature authenticates the caller.
  security: [],
  parameters: call.headers.map((header) => ({
    name: header.name,
    in: "header",
    required: true,
    description: header.description,
    schema: header.schema,
  })),
  requestBody: { required: true, content: contentJson(shared, call.content, "answer") },
  responses: { 200: { description: "Delivered; any 2xx will do." } },
})

/**
 * The document, to be written as JSON, which omits undefined. Pure: the same parts give the same document.
 */
export const openApi = (input: OpenApiInput): JsonObject => {
  const shared: Shared = {
    schemas: makeJsonSchemas(),
    headers: makeComponents("headers"),
    parameters: makeComponents("parameters"),
    responses: makeComponents("responses"),
  }
  // First, so that they keep their names.
  for (const [name, answer] of Object.entries(input.anywhere)) {
    if (answer !== undefined) shared.responses.refer(name, answerJson(shared, answer))
  }
  const paths = pathsJson(shared, input.parts)
  const webhooks = Object.fromEntries(
    input.calls.map((call) => [
      call.name,
      { post: { operationId: call.id, ...callJson(shared, call) } },
    ]),
  )
  return {
    openapi: "3.1.1",
    info: { title: input.title, version: input.version, description: input.description },
    servers: [{ url: input.publicUrl }],
    tags: input.parts.flatMap(({ tags }) => tags),
    "x-tagGroups": input.parts.map(({ name, tags }) => ({
      name,
      tags: tags.map((tag) => tag.name),
    })),
    paths,
    webhooks,
    components: {
      securitySchemes: Object.assign({}, ...input.parts.map(({ security }) => security)),
      schemas: { ...input.schemas, ...shared.schemas.components },
      responses: shared.responses.made,
      headers: shared.headers.made,
      parameters: shared.parameters.made,
    },
  }
}

// JSON Schemas of the core's schemas, in OpenAPI 3.1's form. Named ones become components that
// everything else refers to.

/** Requests allow described fields only; answers may gain fields. */
type Direction = "request" | "answer"

interface JsonSchemas {
  readonly of: (schema: AnySchema, direction: Direction) => JsonObject
  /** What was referred to so far, by name. */
  readonly components: Readonly<Record<string, JsonObject>>
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether the keywords mean the same one level higher. */
const isMovable = (outer: JsonObject, inner: JsonObject): boolean =>
  !("$ref" in inner) &&
  Object.keys(inner).every((key) => !(key in outer) || key === "description" || key === "default")

/** Merges an `allOf` with one member into the schema around it. */
const withoutLoneAllOf = (schema: JsonObject): JsonObject => {
  const { allOf, ...outer } = schema
  if (!Array.isArray(allOf) || allOf.length === 0) return schema
  // A reference to a named schema may carry a note about this use of it.
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

/** Redundant keywords: integers that JSON holds exactly, and additional fields. */
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

/** A list of at least one needs only its length. */
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

/** The schema and all schemas in it, with JSON's names; data stays unchanged. */
const tidy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(tidy)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => {
    if (key === "properties" && isObject(inner)) {
      const properties = Object.entries(inner).map(([name, of]) => [jsonName(name), tidy(of)])
      return [key, Object.fromEntries(properties)]
    }
    if (key === "required" && Array.isArray(inner)) return [key, inner.map(jsonName)]
    if (key === "$ref" && typeof inner === "string") {
      return [key, inner.replace(/^#\/\$defs\//, "#/components/schemas/")]
    }
    return ["enum", "examples", "default"].includes(key) ? [key, inner] : [key, tidy(inner)]
  })
  return tidied(Object.fromEntries(entries) as JsonObject)
}

const pointed = (schema: JsonSchema.JsonSchema): JsonObject => tidy(schema) as JsonObject

/** Starts without components. */
const makeJsonSchemas = (): JsonSchemas => {
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
