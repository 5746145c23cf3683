/** What a request came to when it did not succeed: a refusal of the service, or no usable answer. */
import type { ErrorCode } from "./openapi.ts"

/** What the client says where the service said nothing that it understands. */
export type ClientErrorCode =
  /** The connection could not be made, or broke. What was asked may have been done. */
  | "no_answer"
  /** No answer within `timeoutMillis`. What was asked may have been done. */
  | "timeout"
  /** An answer that is not the service's: of a proxy in between, or of a wrong `url`. */
  | "unexpected_answer"

/** One more thing that is wrong with a request. */
export interface Problem {
  /** The field, such as `to[3].phone`. */
  readonly field: string | null
  readonly message: string
}

/** What is known of a failure. */
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
 * What every method of the clients rejects with, but for one thing: when the caller's `signal` ends a
 * request, it rejects with the signal's reason, as `fetch` does.
 *
 * @example
 * if (error instanceof MessagingError && error.code === "not_cancellable") return error.details["status"]
 */
export class MessagingError extends Error {
  override readonly name = "MessagingError"
  /** Stable: branch on it. */
  readonly code: ErrorCode | ClientErrorCode
  /** `message` without the part in brackets: code, field and request id. */
  readonly text: string
  /** The HTTP status; null when there was no answer, or when the client itself refused the call. */
  readonly status: number | null
  /** The field concerned, such as `to.phone` or `schedule.cron`. */
  readonly field: string | null
  /** What some codes add: `status` of `not_cancellable`, `required_scope` of `missing_scope`, and so on. */
  readonly details: Readonly<Record<string, unknown>>
  /** The other problems, when the request has several. */
  readonly errors: ReadonlyArray<Problem>
  /** A page about the code. */
  readonly docs: string | null
  /** What the service calls the request, `req_` and 24 characters: name it to the operator. */
  readonly requestId: string | null
  /** Seconds after which the service takes the request again; null when it did not say. */
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

/** Seconds of a `Retry-After`, which is a number of them or a date; null when it is neither. */
const secondsOf = (retryAfter: string | null): number | null => {
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

/** The refusal in an answer; an answer that is none of the service's is an error as well. */
export const errorOf = (response: Response, text: string): MessagingError => {
  const body = parsed(text)
  const error = isRecord(body) ? body["error"] : undefined
  const { status } = response
  const retryAfterSeconds = secondsOf(response.headers.get("retry-after"))
  if (!isRecord(error) || typeof error["code"] !== "string") {
    return unexpectedAnswer(response, "its body is not the service's", retryAfterSeconds)
  }
  const { code, docs, errors, field, message, request_id: requestId, ...details } = error
  const textOrNull = (value: unknown) => (typeof value === "string" ? value : null)
  return new MessagingError({
    // Of a newer service it may be a code that this version does not know.
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

/** For what is refused before anything is asked, with the code that the service has for it. */
export const cannotAsk = (
  text: string,
  field: string | null,
  code: ErrorCode = "validation_failed",
): MessagingError => new MessagingError({ code, text, field, status: null })

/** For an answer that the service does not give. */
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

/** The text of a body as JSON; undefined when it is none. */
export const jsonOf = parsed
