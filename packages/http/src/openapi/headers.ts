/** The headers of requests and answers, each described once. */
import { ratePolicy, roles } from "@messaging-service/core"
import type { Header, JsonObject } from "./Operation.ts"

export const header = (
  name: string,
  description: string,
  schema: JsonObject = { type: "string" },
): Header => ({ name, description, schema })

const integer = { type: "integer", minimum: 0 }

/** Of every answer. */
export const commonHeaders: ReadonlyArray<Header> = [
  header("X-Request-Id", "The request's id; errors hold it too.", {
    type: "string",
    pattern: "^req_[A-Za-z0-9]{24}$",
  }),
  header("X-Client-Request-Id", "The `X-Request-Id` that the client sent."),
  header("Cache-Control", "Answers are not to be kept.", { type: "string", const: "no-store" }),
]

/** Of every answer to a request that was counted. */
export const rateHeaders: ReadonlyArray<Header> = [
  header(
    "RateLimit-Limit",
    "Requests of the window: 60, or 10000 once the day's limit is reached.",
    integer,
  ),
  header("RateLimit-Remaining", "Requests that are left in the window.", integer),
  header("RateLimit-Reset", "Seconds until the window starts anew.", integer),
  header("RateLimit-Policy", "Both limits, each with its window in seconds.", {
    type: "string",
    const: ratePolicy,
  }),
]

export const retryAfter = header(
  "Retry-After",
  "Seconds after which the request may be repeated.",
  integer,
)

export const challenge = header("WWW-Authenticate", "What to send.", {
  type: "string",
  const: 'Bearer realm="service"',
})

export const allow = header("Allow", "The methods that the address takes.")

export const noSniff = header("X-Content-Type-Options", "Always `nosniff`.")

export const replayed = header(
  "Idempotent-Replayed",
  "There when this is the first answer once more, and nothing was done again.",
  { type: "string", const: "true" },
)

export const idempotencyKey = header(
  "Idempotency-Key",
  "A repeat with the same key and the same request within 24 hours gets the first answer and does nothing twice. Errors are not kept.",
  { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7E]+$" },
)

export const clientRequestId = header(
  "X-Request-Id",
  "An id of your own, which comes back as `X-Client-Request-Id`.",
  { type: "string", minLength: 1, maxLength: 100 },
)

export const actingRole = header(
  "Acting-Role",
  "Acts as that role of the workspace instead of its owner.",
  { type: "string", enum: roles, default: "owner" },
)
