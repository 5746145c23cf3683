/** The error of a failed request: a refusal by the service, or no usable response. */
import type { ErrorCode } from "./openapi.ts"

/** Codes of the client for failures without a usable response. */
export type ClientErrorCode =
  /** The connection failed or broke. The request may have taken effect. */
  | "no_answer"
  /** No response within `timeoutMillis`. The request may have taken effect. */
  | "timeout"
  /** A response from something other than the service: a proxy, or a wrong `url`. */
  | "unexpected_answer"

/** A further problem with a request. */
export interface Problem {
  /** The field, such as `to[3].phone`. */
  readonly field: string | null
  readonly message: string
}

/** Facts of a failure. */
interface Failure {
  readonly code: ErrorCode | ClientErrorCode
  readonly text: string
  readonly status: number | null
  readonly field?: string | null
  readonly details?: Readonly<Record<string, unknown>>
  readonly errors?: ReadonlyArray<Problem>
  readonly docs?: string | null
  readonly requestId?: string | null
  readonly retryAfterSeconds?: number | null
  readonly cause?: unknown
}

/**
 * Every method of the clients rejects with this error, with one exception: when the caller's `signal`
 * ends a request, the method rejects with the signal's reason, as `fetch` does.
 *
 * @example
 * if (error instanceof MessagingError && error.code === "not_cancellable") return error.details["status"]
 */
export class MessagingError extends Error {
  override readonly name = "MessagingError"
  /** Stable code; branch on it. */
  readonly code: ErrorCode | ClientErrorCode
  /** `message` without the part in brackets: code, field and request id. */
  readonly text: string
  /** The HTTP status; null without a response, or when the client itself refused the call. */
  readonly status: number | null
  /** The field concerned, such as `to.phone` or `schedule.cron`. */
  readonly field: string | null
  /**
   * Extra facts of some codes: `status` of `not_cancellable`, `required_scope` of `missing_scope`, and
   * so on.
   */
  readonly details: Readonly<Record<string, unknown>>
  /** The other problems, when the request has several. */
  readonly errors: ReadonlyArray<Problem>
  /** A page about the code. */
  readonly docs: string | null
  /** The service's id of the request, `req_` and 24 characters: give it to the operator. */
  readonly requestId: string | null
  /** Seconds after which to retry; null when the service named none. */
  readonly retryAfterSeconds: number | null

  constructor(failure: Failure) {
    const { field = null, requestId = null } = failure
    const about = [
      failure.code,
      ...(field === null ? [] : [field]),
      ...(requestId === null ? [] : [requestId]),
    ]
    super(`${failure.text} (${about.join(", ")})`, { cause: failure.cause })
    this.code = failure.code
    this.text = failure.text
    this.status = failure.status
    this.field = field
    this.details = failure.details ?? {}
    this.errors = failure.errors ?? []
    this.docs = failure.docs ?? null
    this.requestId = requestId
    this.retryAfterSeconds = failure.retryAfterSeconds ?? null
  }
}

/** Seconds of a `Retry-After`, a number or a date; null when it is neither. */
const toSeconds = (retryAfter: string | null): number | null => {
  if (retryAfter === null || retryAfter.trim() === "") return null
  const seconds = Number(retryAfter)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const date = Date.parse(retryAfter)
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - Date.now()) / 1000))
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The refusal in a response; a response from something other than the service is an error too. */
export const getError = (response: Response, text: string): MessagingError => {
  const body = parsed(text)
  const error = isRecord(body) ? body["error"] : undefined
  const { status } = response
  const retryAfterSeconds = toSeconds(response.headers.get("retry-after"))
  if (!isRecord(error) || typeof error["code"] !== "string") {
    return unexpectedAnswer(response, "its body is not the service's", retryAfterSeconds)
  }
  const { code, docs, errors, field, message, request_id: requestId, ...details } = error
  const textOrNull = (value: unknown) => (typeof value === "string" ? value : null)
  return new MessagingError({
    // A newer service may send a code that this version does not know.
    code: code as ErrorCode,
    text: textOrNull(message) ?? "The service refused the request",
    status,
    field: textOrNull(field),
    details,
    errors: Array.isArray(errors) ? (errors as ReadonlyArray<Problem>) : [],
    docs: textOrNull(docs),
    requestId: textOrNull(requestId),
    retryAfterSeconds,
  })
}

/** For calls that the client refuses before any request, with the service's code for the problem. */
export const rejectedLocally = (
  text: string,
  field: string | null,
  code: ErrorCode = "validation_failed",
): MessagingError => new MessagingError({ code, text, field, status: null })

/** For a response that the service never sends. */
export const unexpectedAnswer = (
  { headers, status }: Response,
  why: string,
  retryAfterSeconds: number | null = null,
): MessagingError => {
  const location = headers.get("location")
  const where = location === null ? "" : `, and points to ${location}`
  return new MessagingError({
    code: "unexpected_answer",
    text: `An answer with status ${status} that is not the service's: ${why}${where}`,
    status,
    requestId: headers.get("x-request-id"),
    retryAfterSeconds,
  })
}

/** The text of a body as JSON; undefined for other text. */
export const toJson = parsed
