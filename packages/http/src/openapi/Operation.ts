/**
 * The input of the OpenAPI document: operations with all their requests and answers. Each part of
 * the interface makes them from its table of routes; only `openApi.ts` knows OpenAPI's format.
 */
import { allScopes, catalogue, messageStatuses, ratePolicy, roles } from "@messaging-service/core"
import type { Code, Details } from "@messaging-service/core"
import type { Schema } from "effect"
import { jsonName } from "../JsonNames.ts"
import type { Route } from "../RouteTable.ts"

/** JSON that enters the document unchanged. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A schema that the core parses or answers with, or literal JSON Schema. */
export type AnySchema = { readonly effect: Schema.Top } | { readonly json: JsonObject }

interface Media {
  readonly schema: AnySchema
  /** Examples by a readable name. */
  readonly examples?: Readonly<Record<string, unknown>> | undefined
}

/** By content type. */
export type Content = Readonly<Record<string, Media>>

/** Of an answer or of a request. */
export interface Header {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
}

export interface Answer {
  readonly status: number
  readonly description: string
  readonly headers: ReadonlyArray<Header>
  /** Undefined: no body. */
  readonly content: Content | undefined
}

/** Where the document lists an operation, and its heading. */
export interface Heading extends Route {
  /** Unique in the whole document; names of generated clients' functions come from it. */
  readonly id: string
  readonly tag: string
  /** A few words, such as "Send a message". */
  readonly summary: string
  readonly about?: string
}

export interface Operation extends Heading {
  /**
   * Names of the security schemes, any one of them sufficient; null for credentials outside the
   * headers. Empty when no credentials are needed.
   */
  readonly security: ReadonlyArray<string | null>
  /** The parameters in the path; integers by default. */
  readonly parameters?: Readonly<Record<string, JsonObject>>
  /** Parameters of the query: the fields of a struct. */
  readonly query?: Schema.Top | undefined
  readonly headers: ReadonlyArray<Header>
  readonly body?: { readonly required: boolean; readonly content: Content } | undefined
  readonly answers: ReadonlyArray<Answer>
  /** Calls that the service later makes to an address in the request, by the field that holds it. */
  readonly callbacks?: Readonly<Record<string, Call>> | undefined
}

interface Tag {
  readonly name: string
  readonly description: string
}

/** One part of the interface, as the document shows it. */
export interface DescribedPart {
  /** Heading of the part's tags on the page. */
  readonly name: string
  readonly tags: ReadonlyArray<Tag>
  /** By name; OpenAPI security schemes. */
  readonly security: Readonly<Record<string, JsonObject>>
  readonly operations: ReadonlyArray<Operation>
}

/** A call that the service itself makes. */
export interface Call {
  readonly name: string
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly about: string
  readonly headers: ReadonlyArray<Header>
  readonly content: Content
}

/** JSON in that form, with an example. */
export const jsonContent = (schema: Schema.Top, example?: unknown): Content => ({
  "application/json": {
    schema: { effect: schema },
    examples: example === undefined ? undefined : { example },
  },
})

// Headers of requests and answers, each described once

export const header = (
  name: string,
  description: string,
  schema: JsonObject = { type: "string" },
): Header => ({ name, description, schema })

const integer = { type: "integer", minimum: 0 }

/** Of every answer. */
export const commonHeaders: ReadonlyArray<Header> = [
  header("X-Request-Id", "The request's id, also in errors.", {
    type: "string",
    pattern: "^req_[A-Za-z0-9]{24}$",
  }),
  header("X-Client-Request-Id", "The `X-Request-Id` that the client sent."),
  header("Cache-Control", "Answers must not be cached.", { type: "string", const: "no-store" }),
]

/** Of every answer to a counted request. */
export const rateHeaders: ReadonlyArray<Header> = [
  header(
    "RateLimit-Limit",
    "Requests of the window: 60, or 10000 once the day's limit is reached.",
    integer,
  ),
  header("RateLimit-Remaining", "Requests left in the window.", integer),
  header("RateLimit-Reset", "Seconds until the window resets.", integer),
  header("RateLimit-Policy", "Both limits, each with its window in seconds.", {
    type: "string",
    const: ratePolicy,
  }),
]

export const retryAfter = header("Retry-After", "Seconds to wait before retrying.", integer)

const challenge = header("WWW-Authenticate", "What to send.", {
  type: "string",
  const: 'Bearer realm="service"',
})

const allow = header("Allow", "The allowed methods.")

export const noSniff = header("X-Content-Type-Options", "Always `nosniff`.")

export const disposition = header(
  "Content-Disposition",
  "`inline` for pictures, else `attachment`.",
)

export const replayed = header(
  "Idempotent-Replayed",
  "Present when this repeats the first answer, and nothing was done again.",
  { type: "string", const: "true" },
)

export const idempotencyKey = header(
  "Idempotency-Key",
  "A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored.",
  { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7E]+$" },
)

export const clientRequestId = header(
  "X-Request-Id",
  "Your own id, returned as `X-Client-Request-Id`.",
  { type: "string", minLength: 1, maxLength: 100 },
)

export const actingRole = header(
  "Acting-Role",
  "Acts in this role of the workspace instead of as its owner.",
  { type: "string", enum: roles, default: "owner" },
)

// Refusals of version 2 and of the operator API, generated from the error catalogue: for each
// operation and status, its possible codes (contract: Errors)

/** A code; with `inPath` the path's target is missing, which gives some codes another status. */
export type Refused = Code | { readonly code: Code; readonly inPath: true }

const toCode = (refused: Refused): Code => (typeof refused === "string" ? refused : refused.code)

const getStatus = (refused: Refused): number => {
  const { pathStatus, status } = catalogue[toCode(refused)]
  return typeof refused === "string" ? status : (pathStatus ?? status)
}

/** The extra fields of error objects (contract: Errors). */
const detailSchemas: Readonly<Partial<Record<keyof Details, JsonObject>>> = {
  requiredScope: { type: "string", enum: allScopes, description: "The scope that the key lacks." },
  status: {
    type: "string",
    enum: messageStatuses,
    description: "The current status of the message.",
  },
  sending: {
    type: "boolean",
    const: true,
    description:
      "Present when a transport still has the message after five seconds: it no longer waits, and may still be sent.",
  },
  contactId: { type: "integer", description: "Of the contact with that phone or username." },
  numberId: {
    type: "integer",
    description: "The number that is connecting, or that already has the phone.",
  },
  room: {
    type: "integer",
    description: "How many messages still fit at the requested planned time.",
  },
  roomAt: {
    type: ["string", "null"],
    format: "date-time",
    description:
      "The earliest planned time, not before the requested one, at which the whole request fits; null when there is none.",
  },
  used: { type: "integer", description: "Bytes in use." },
  limit: { type: "integer", description: "Bytes that the plan includes." },
  line: { type: "integer", description: "Of the file, from 1." },
  column: { type: "integer", description: "Of the line, from 1." },
}

const referTo = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** Codes and their entries; without an operator API, those that only it answers with are left out. */
export const errorCodes = (
  hasOperator: boolean,
): ReadonlyArray<readonly [string, (typeof catalogue)[Code]]> =>
  Object.entries(catalogue).filter(([, { operatorOnly }]) => hasOperator || operatorOnly !== true)

/** The properties of every error object. */
export const errorSchemas = (hasOperator: boolean): Readonly<Record<string, JsonObject>> => ({
  ErrorCode: {
    type: "string",
    enum: errorCodes(hasOperator).map(([code]) => code),
    description: "Stable identifier; branch on it. Every code is explained at `/docs/errors`.",
  },
  Error: {
    type: "object",
    properties: {
      code: referTo("ErrorCode"),
      message: { type: "string", description: "English, for developers; may change." },
      field: {
        type: ["string", "null"],
        description: "The field concerned.",
        examples: ["to[3].phone"],
      },
      docs: { type: "string", format: "uri", description: "The code in the error catalogue." },
      request_id: { type: "string", description: "As in the header `X-Request-Id`." },
      errors: {
        type: "array",
        minItems: 1,
        description: "The other problems, when the request has several.",
        items: {
          type: "object",
          properties: { field: { type: ["string", "null"] }, message: { type: "string" } },
          required: ["field", "message"],
        },
      },
    },
    required: ["code", "message", "field", "docs", "request_id"],
  },
})

const errorSchema = (codes: ReadonlyArray<Code>): JsonObject => {
  const details = codes.flatMap((code) => catalogue[code].details ?? [])
  const optional = codes.flatMap((code) => catalogue[code].optionalDetails ?? [])
  const detail = (name: keyof Details) => [jsonName(name), detailSchemas[name] ?? {}]
  return {
    type: "object",
    properties: {
      error: {
        type: "object",
        allOf: [referTo("Error")],
        properties: {
          code: { type: "string", enum: codes },
          ...Object.fromEntries([...details, ...optional].map(detail)),
        },
        // A code's own fields are required, except for the optional ones.
        required: codes.length === 1 && details.length > 0 ? details.map(jsonName) : undefined,
      },
    },
    required: ["error"],
  }
}

const mayRetry = (status: number, codes: ReadonlyArray<Code>): boolean =>
  status === 429 || status === 503 || codes.includes("idempotency_in_progress")

const getHeaders = (status: number, codes: ReadonlyArray<Code>): ReadonlyArray<Header> => [
  ...commonHeaders,
  ...(status === 401 ? [challenge] : []),
  ...(status === 405 ? [allow] : []),
  ...(mayRetry(status, codes) ? [retryAfter] : []),
]

const describeCode = (code: Code): string => `- \`${code}\`: ${catalogue[code].message}`

const toExample = (code: Code) => ({
  error: {
    code,
    message: catalogue[code].message,
    field: null,
    docs: `https://messages.example.com/docs/errors#${code}`,
    request_id: "req_0123456789abcdefghijABCD",
  },
})

/** One answer for each status; `headers` are those that the part of the interface adds. */
export const refusals = (
  refused: ReadonlyArray<Refused>,
  headers: (status: number) => ReadonlyArray<Header> = () => [],
): ReadonlyArray<Answer> => {
  const byStatus = new Map<number, Set<Code>>()
  for (const each of refused) {
    const status = getStatus(each)
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(toCode(each)))
  }
  const order = Object.keys(catalogue)
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, set]) => {
      const codes = [...set].toSorted((a, b) => order.indexOf(a) - order.indexOf(b))
      const plain = codes.filter((code) => catalogue[code].details === undefined)
      const examples = Object.fromEntries(plain.map((code) => [code, toExample(code)]))
      return {
        status,
        description: codes.map(describeCode).join("\n"),
        headers: [...getHeaders(status, codes), ...headers(status)],
        content: {
          "application/json": {
            schema: { json: errorSchema(codes) },
            examples: plain.length === 0 ? undefined : examples,
          },
        },
      }
    })
}
