/** The service's OpenAPI document, read once for tests of the interface and for the fuzzer. */

export type Json = Readonly<Record<string, unknown>>

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export interface MediaObject {
  readonly schema: Json
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

export interface ParameterObject {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly description?: string
  readonly required?: boolean
  readonly schema: Json
}

export interface ResponseObject {
  readonly headers?: Json
  readonly content?: Readonly<Record<string, MediaObject>>
}

export interface OperationObject {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary: string
  readonly description?: string
  readonly security: ReadonlyArray<Json>
  /** Many are references. */
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

export const apiParts = ["v2", "v1", "operator", "emulator", "open"] as const
export type ApiPart = (typeof apiParts)[number]

/** One operation, with its references resolved. */
export interface Operation {
  readonly id: string
  readonly part: ApiPart
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<ParameterObject>
  /** By content type; empty where the operation takes no body. */
  readonly bodies: Readonly<Record<string, MediaObject>>
  readonly bodyRequired: boolean
  readonly responses: Readonly<Record<string, Response>>
  /** Unchanged from the document, with its references. */
  readonly operation: OperationObject
}

export interface Response {
  /** Its location in the document, for the checker. */
  readonly place: ReadonlyArray<string>
  readonly headers: ReadonlyArray<string>
  readonly content: Readonly<Record<string, MediaObject>>
  /** The possible codes of an error with this status; empty when it is not an error object. */
  readonly codes: ReadonlyArray<string>
}

export interface ServiceDocument {
  readonly source: DocumentObject
  readonly operations: ReadonlyArray<Operation>
  /** The operations at an address, by method; undefined where there is none. */
  at(path: string): ReadonlyMap<string, Operation> | undefined
  resolve(schema: Json): Json
}

/** Headers that any HTTP answer may carry, and that the document does not repeat. */
export const headersOfHttp: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "date",
  "connection",
  "keep-alive",
  "transfer-encoding",
])

const prefixes: ReadonlyArray<readonly [string, ApiPart]> = [
  ["/api/v2", "v2"],
  ["/api/v1", "v1"],
  ["/admin/v1/simulator", "emulator"],
  ["/admin/v1", "operator"],
]

/** The part of the interface that a path belongs to. */
export const toApiPart = (path: string): ApiPart =>
  prefixes.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))?.[1] ?? "open"

/** The error codes in an answer's content; none when it is not an error object. */
export const getCodes = (content: Response["content"] = {}): ReadonlyArray<string> => {
  let at: unknown = content["application/json"]?.schema
  for (const key of ["properties", "error", "properties", "code", "enum"]) {
    at = isJson(at) ? at[key] : undefined
  }
  return Array.isArray(at) ? (at as ReadonlyArray<string>) : []
}

/** Reads the document once, for generating and for judging. */
export const readDocument = (source: DocumentObject): ServiceDocument => {
  const lookUp = (ref: string): unknown =>
    ref
      .replace("#/", "")
      .split("/")
      .reduce<unknown>((at, key) => (isJson(at) ? at[key] : undefined), source)

  const toResponse = (
    at: ReadonlyArray<string>,
    response: ResponseObject | { readonly $ref: string },
  ): Response => {
    const [place, found] =
      "$ref" in response
        ? [response.$ref.replace("#/", "").split("/"), lookUp(response.$ref) as ResponseObject]
        : [at, response]
    const content = found.content ?? {}
    const headers = Object.keys(found.headers ?? {}).map((name) => name.toLowerCase())
    return { place, headers, content, codes: getCodes(content) }
  }

  const operations = Object.entries(source.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Operation => ({
      id: operation.operationId,
      part: toApiPart(path),
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters.map(
        (parameter) =>
          (typeof parameter["$ref"] === "string"
            ? lookUp(parameter["$ref"])
            : parameter) as ParameterObject,
      ),
      bodies: operation.requestBody?.content ?? {},
      bodyRequired: operation.requestBody?.required ?? false,
      responses: Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [
          status,
          toResponse(["paths", path, method, "responses", status], response),
        ]),
      ),
      operation,
    })),
  )

  return {
    source,
    operations,
    at: addresses(operations),
    resolve: (schema) => {
      let resolved = schema
      while (typeof resolved["$ref"] === "string") resolved = lookUp(resolved["$ref"]) as Json
      return resolved
    },
  }
}

/** Literal segments win over parameters, as in the service. */
const addresses = (operations: ReadonlyArray<Operation>) => {
  const byPath = new Map<
    string,
    { readonly segments: ReadonlyArray<string>; readonly methods: Map<string, Operation> }
  >()
  for (const operation of operations) {
    const entry = byPath.get(operation.path) ?? {
      segments: operation.path.split("/"),
      methods: new Map<string, Operation>(),
    }
    entry.methods.set(operation.method, operation)
    byPath.set(operation.path, entry)
  }
  const ordered = [...byPath.values()].toSorted(
    (a, b) => countParameters(a.segments) - countParameters(b.segments),
  )
  return (path: string) => {
    const bare = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
    const args = bare.split("/")
    return ordered.find(({ segments }) => fits(segments, args))?.methods
  }
}

const isParameter = (segment: string) => segment.startsWith("{")

const countParameters = (segments: ReadonlyArray<string>) => segments.filter(isParameter).length

const fits = (segments: ReadonlyArray<string>, args: ReadonlyArray<string>) =>
  segments.length === args.length &&
  segments.every((segment, at) => (isParameter(segment) ? args[at] !== "" : segment === args[at]))
