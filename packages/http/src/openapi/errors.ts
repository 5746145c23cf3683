/**
 * Refusals of version 2 and of the operator API as the document shows them, made from the error
 * catalogue: for each operation and status, the codes that it can answer (contract: Errors).
 */
import { catalogue, messageStatuses, scopes } from "@messaging-service/core"
import type { Code } from "@messaging-service/core"
import { allow, challenge, commonHeaders, retryAfter } from "./headers.ts"
import type { Answer, Header, JsonObject } from "./Operation.ts"

/** A code; with `inPath` what the path names is missing, which some codes tell by another status. */
export type Refused = Code | { readonly code: Code; readonly inPath: true }

const codeOf = (refused: Refused): Code => (typeof refused === "string" ? refused : refused.code)

const statusOf = (refused: Refused): number => {
  const { pathStatus, status } = catalogue[codeOf(refused)]
  return typeof refused === "string" ? status : (pathStatus ?? status)
}

/** The extra fields of error objects (contract: Errors). */
const detailSchemas: Readonly<Record<string, JsonObject>> = {
  required_scope: { type: "string", enum: scopes, description: "The scope that the key lacks." },
  status: { type: "string", enum: messageStatuses, description: "What the message is by now." },
  sending: {
    type: "boolean",
    const: true,
    description:
      "There when a transport still has the message after five seconds: it is no longer waiting, and may be sent yet.",
  },
  number_id: {
    type: "integer",
    description: "The number that is being connected, or that has the phone already.",
  },
  room: {
    type: "integer",
    description: "How many messages still fit at the requested planned time.",
  },
  room_at: {
    type: ["string", "null"],
    format: "date-time",
    description:
      "The earliest planned time, not before the requested one, at which the whole request fits; null when there is none.",
  },
  used: { type: "integer", description: "Bytes in use." },
  limit: { type: "integer", description: "Bytes that the plan includes." },
}

const referTo = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** The parts that every error object has. */
export const errorSchemas: Readonly<Record<string, JsonObject>> = {
  ErrorCode: {
    type: "string",
    enum: Object.keys(catalogue),
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
}

const errorSchema = (codes: ReadonlyArray<Code>): JsonObject => {
  const details = codes.flatMap((code) => catalogue[code].details ?? [])
  const optional = codes.flatMap((code) => catalogue[code].optionalDetails ?? [])
  const detail = (name: string) => [name, detailSchemas[name] ?? {}]
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
        // A code's own fields are there, but for those that are optional.
        required: codes.length === 1 && details.length > 0 ? details : undefined,
      },
    },
    required: ["error"],
  }
}

const mayRetry = (status: number, codes: ReadonlyArray<Code>): boolean =>
  status === 429 || status === 503 || codes.includes("idempotency_in_progress")

const headersOf = (status: number, codes: ReadonlyArray<Code>): ReadonlyArray<Header> => [
  ...commonHeaders,
  ...(status === 401 ? [challenge] : []),
  ...(status === 405 ? [allow] : []),
  ...(mayRetry(status, codes) ? [retryAfter] : []),
]

const describeCode = (code: Code): string => `- \`${code}\`: ${catalogue[code].message}`

const exampleOf = (code: Code) => ({
  error: {
    code,
    message: catalogue[code].message,
    field: null,
    docs: `https://messages.example.com/docs/errors#${code}`,
    request_id: "req_0123456789abcdefghijABCD",
  },
})

/** One answer for each status; `headers` are those that the part of the interface adds to it. */
export const refusals = (
  refused: ReadonlyArray<Refused>,
  headers: (status: number) => ReadonlyArray<Header> = () => [],
): ReadonlyArray<Answer> => {
  const byStatus = new Map<number, Set<Code>>()
  for (const each of refused) {
    const status = statusOf(each)
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(codeOf(each)))
  }
  const order = Object.keys(catalogue)
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, set]) => {
      const codes = [...set].toSorted((a, b) => order.indexOf(a) - order.indexOf(b))
      const plain = codes.filter((code) => catalogue[code].details === undefined)
      const examples = Object.fromEntries(plain.map((code) => [code, exampleOf(code)]))
      return {
        status,
        description: codes.map(describeCode).join("\n"),
        headers: [...headersOf(status, codes), ...headers(status)],
        content: {
          "application/json": {
            schema: { json: errorSchema(codes) },
            examples: plain.length === 0 ? undefined : examples,
          },
        },
      }
    })
}
