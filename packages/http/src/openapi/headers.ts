/** The headers of requests and answers, each described once. */
import { ratePolicy, roles } from "@messaging-service/core"
import type { Header } from "./Operation.ts"

const integer = { type: "integer", minimum: 0 }

/** Of every answer. */
export const commonHeaders: ReadonlyArray<Header> = [
  {
    name: "X-Request-Id",
    description: "The request's id; errors hold it too.",
    schema: { type: "string", pattern: "^req_[A-Za-z0-9]{24}$" },
  },
  {
    name: "X-Client-Request-Id",
    description: "The `X-Request-Id` that the client sent.",
    schema: { type: "string" },
  },
  {
    name: "Cache-Control",
    description: "Answers are not to be kept.",
    schema: { type: "string", const: "no-store" },
  },
]

/** Of every answer to a request that was counted. */
export const rateHeaders: ReadonlyArray<Header> = [
  {
    name: "RateLimit-Limit",
    description: "Requests of the window: 60, or 10000 once the day's limit is reached.",
    schema: integer,
  },
  {
    name: "RateLimit-Remaining",
    description: "Requests that are left in the window.",
    schema: integer,
  },
  {
    name: "RateLimit-Reset",
    description: "Seconds until the window starts anew.",
    schema: integer,
  },
  {
    name: "RateLimit-Policy",
    description: "Both limits, each with its window in seconds.",
    schema: { type: "string", const: ratePolicy },
  },
]

export const retryAfter: Header = {
  name: "Retry-After",
  description: "Seconds after which the request may be repeated.",
  schema: integer,
}

export const challenge: Header = {
  name: "WWW-Authenticate",
  description: "What to send.",
  schema: { type: "string", const: 'Bearer realm="service"' },
}

export const allow: Header = {
  name: "Allow",
  description: "The methods that the address takes.",
  schema: { type: "string" },
}

export const replayed: Header = {
  name: "Idempotent-Replayed",
  description: "There when this is the first answer once more, and nothing was done again.",
  schema: { type: "string", const: "true" },
}

export const idempotencyKey: Header = {
  name: "Idempotency-Key",
  description:
    "A repeat with the same key and the same request within 24 hours gets the first answer and does nothing twice. Errors are not kept.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7E]+$" },
}

export const clientRequestId: Header = {
  name: "X-Request-Id",
  description: "An id of your own, which comes back as `X-Client-Request-Id`.",
  schema: { type: "string", minLength: 1, maxLength: 100 },
}

export const actingRole: Header = {
  name: "Acting-Role",
  description: "Acts as that role of the workspace instead of its owner.",
  schema: { type: "string", enum: roles, default: "owner" },
}
