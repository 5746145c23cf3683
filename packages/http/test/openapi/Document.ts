/** The document as the service gives it out, and answers held against it by an independent validator. */
import { Effect } from "effect"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Doors } from "../Doors.ts"
import type { Answer, Call } from "../Doors.ts"
import { bodyOf } from "../World.ts"

export type Json = Readonly<Record<string, unknown>>

export interface MediaObject {
  readonly schema: Json
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

export interface ResponseObject {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, MediaObject>>
}

export interface OperationObject {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary: string
  readonly description?: string
  readonly security: ReadonlyArray<Json>
  readonly parameters: ReadonlyArray<Json>
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, MediaObject>>
  }
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>
  readonly callbacks?: Readonly<
    Record<string, Readonly<Record<string, { readonly post: Omit<OperationObject, "callbacks"> }>>>
  >
}

export interface DocumentObject {
  readonly openapi: string
  readonly servers: ReadonlyArray<{ readonly url: string }>
  readonly tags: ReadonlyArray<{ readonly name: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: OperationObject }>>
  readonly components: Readonly<Record<string, Readonly<Record<string, Json>>>>
}

/** The document of the service behind the doors. */
export const served = Effect.gen(function* () {
  const { socket } = yield* Doors
  return bodyOf<DocumentObject>(yield* socket.call({ path: "/openapi.json" }), 200)
})

export interface Placed {
  readonly method: string
  readonly path: string
  readonly operation: OperationObject
}

export const operationsOf = ({ paths }: DocumentObject): ReadonlyArray<Placed> =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  )

/** The operation's answer with that status, wherever it is written down. */
export const responseOf = (
  document: DocumentObject,
  operation: OperationObject,
  status: number | string,
): ResponseObject | undefined => {
  const response = operation.responses[String(status)]
  if (response === undefined || !("$ref" in response)) return response
  const name = response.$ref.replace("#/components/responses/", "")
  return document.components["responses"]?.[name] as ResponseObject | undefined
}

/** What an operation's answer of that status may carry as its code. */
export const codesOf = (response: ResponseObject | undefined): ReadonlyArray<string> => {
  const schema = response?.content?.["application/json"]?.schema as
    | { readonly properties?: { readonly error?: { readonly properties?: Json } } }
    | undefined
  const code = schema?.properties?.error?.properties?.["code"] as
    | { readonly enum: ReadonlyArray<string> }
    | undefined
  return code?.enum ?? []
}

const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Answers may come to hold more than the document says; today's hold just that. So each object is
 * closed here, but for those that are a part of another one.
 */
const closed = (value: unknown, part = false): unknown => {
  if (Array.isArray(value)) return value.map((inner) => closed(inner))
  if (!isJson(value)) return value
  const inner = Object.fromEntries(
    Object.entries(value).map(([key, of]) => {
      if (key === "allOf" && Array.isArray(of)) return [key, of.map((each) => closed(each, true))]
      if (key === "properties" && isJson(of)) {
        return [
          key,
          Object.fromEntries(Object.entries(of).map(([name, field]) => [name, closed(field)])),
        ]
      }
      return ["enum", "examples", "default", "example"].includes(key)
        ? [key, of]
        : [key, closed(of)]
    }),
  )
  const isWhole = [inner["type"]].flat().includes("object")
  return "properties" in inner && isWhole && !part && !("additionalProperties" in inner)
    ? { ...inner, unevaluatedProperties: false }
    : inner
}

const pointer = (...keys: ReadonlyArray<string>): string =>
  keys
    .map((key) => `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`)
    .join("")

export type Check = (value: unknown) => string | undefined

/** A check by the schema that stands at that place of the document; undefined: nothing is wrong. */
export const checker = (document: DocumentObject) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  const components = closed(document.components) as Record<string, Record<string, Json>>
  const parts = { ...components["schemas"] }
  // It is a part of every error, which is closed around it.
  parts["Error"] = document.components["schemas"]?.["Error"] ?? {}
  ajv.addSchema(
    { ...(closed(document) as Json), components: { ...components, schemas: parts } },
    "document",
  )
  const checks = new Map<string, Check>()
  return (...keys: ReadonlyArray<string>): Check => {
    const place = `document#${pointer(...keys)}`
    const known = checks.get(place)
    if (known !== undefined) return known
    const validate = ajv.compile({ $ref: place })
    const check: Check = (value) =>
      validate(value) ? undefined : ajv.errorsText(validate.errors, { separator: "\n" })
    checks.set(place, check)
    return check
  }
}

const matches = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path)

/** The operation that a call is for: a path without ids wins over one with them. */
export const operationFor = (
  document: DocumentObject,
  { method = "GET", path }: Call,
): Placed | undefined => {
  const [bare = ""] = path.split("?")
  return operationsOf(document)
    .filter((placed) => placed.method === method && matches(placed.path, bare))
    .toSorted((a, b) => a.path.split("{").length - b.path.split("{").length)[0]
}

/** What an answer has that the document does not say; empty when it is as described. */
export const undocumented = (document: DocumentObject) => {
  const check = checker(document)
  const contentCheck = (placed: Placed, status: number, type: string): Check => {
    const response = placed.operation.responses[String(status)]
    return response !== undefined && "$ref" in response
      ? check(
          "components",
          "responses",
          response.$ref.replace("#/components/responses/", ""),
          "content",
          type,
          "schema",
        )
      : check(
          "paths",
          placed.path,
          placed.method.toLowerCase(),
          "responses",
          String(status),
          "content",
          type,
          "schema",
        )
  }
  return (call: Call, answer: Answer): ReadonlyArray<string> => {
    const placed = operationFor(document, call)
    if (placed === undefined) return ["no operation of the document"]
    const response = responseOf(document, placed.operation, answer.status)
    if (response === undefined) return [`no answer ${answer.status} of ${placed.path}`]
    const headers = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase())
    const strange = Object.keys(answer.headers).filter(
      (name) => !headers.includes(name) && !ofHttp.includes(name),
    )
    const [type = ""] = (answer.headers["content-type"] ?? "").split(";")
    const typed = response.content?.[type]
    const any = response.content?.["*/*"]
    const wrong =
      answer.text === "" || any !== undefined
        ? undefined
        : typed === undefined
          ? `no content ${type}`
          : contentCheck(placed, answer.status, type)(answer.body ?? answer.text)
    return [
      ...strange.map((name) => `the header ${name} is not described`),
      ...(wrong === undefined
        ? []
        : [`${placed.method} ${placed.path} ${answer.status}: ${wrong}`]),
    ]
  }
}

/** What every HTTP answer may carry. */
const ofHttp = [
  "content-type",
  "content-length",
  "date",
  "connection",
  "keep-alive",
  "transfer-encoding",
]
