/** Failures of the core, as the one error that callers of the front door see. */
import {
  Refusal,
  StoreUnavailable,
  bodyRule,
  catalogue,
  refusalOfStore,
  refuse,
} from "@messaging-service/core"
import type { Code, Failure } from "@messaging-service/core"
import { CannotStart } from "@messaging-service/node"
import { Cause } from "effect"
import { MessagingError } from "../MessagingError.ts"
import { embeddedDatabase } from "../compose/optionalPackage.ts"
import { shownField, shownText } from "../names.ts"
import { WrongOptions } from "./rules.ts"
import type { Wrong } from "./rules.ts"

/** A message that names its field. */
const naming = (field: string | null, message: string): string => {
  const text = shownText(message)
  return field === null || text.startsWith(`${field}:`) || text.startsWith(`${field} `)
    ? text
    : `${field}: ${text}`
}

interface OfCall {
  readonly message: string
  /** The option that is meant. */
  readonly field?: string
}

/** What the catalogue says of requests, said of calls: a program sends no headers, and has no body. */
const ofCalls: Readonly<Partial<Record<Code, OfCall>>> = {
  validation_failed: { message: "The command is not valid." },
  idempotency_key_reused: {
    field: "idempotencyKey",
    message: "was used within 24 hours for another command",
  },
  idempotency_in_progress: {
    field: "idempotencyKey",
    message: "is that of a call that is still running",
  },
  internal_error: {
    message:
      "The service failed, and `cause` says how. Whether the call took effect is not known: make it again later, with the same idempotencyKey if it takes one.",
  },
  service_unavailable: {
    message:
      "There is no room for this call at the moment, or another transaction holds what it needs. Make it again after `retryAfterMillis`.",
  },
  rate_limited: { message: "Too many calls with this key." },
  too_many_auth_failures: { message: "Too many calls with a wrong key. Wait a minute." },
  missing_api_key: { message: "`withKey` takes the text of a key of version 2." },
  number_not_allowed: { message: "This caller is limited to other numbers." },
  telegram_not_configured: {
    message:
      "Telegram accounts are logged in where `open` was given `transport: { live: { telegram: { apiId, apiHash } } }`.",
  },
}

const notAnObject = "The command must be an object."

/** A problem in words for a program; a message of its own stays as it is. */
const inCalls = (problem: Refusal["errors"][number]): Refusal["errors"][number] => {
  const { code, field, message } = problem
  if (message === bodyRule) return { ...problem, message: notAnObject }
  const told = message === catalogue[code].message ? ofCalls[code] : undefined
  return told === undefined ? problem : { field, ...told, code }
}

const problemOf = (problem: Refusal["errors"][number]) => {
  const { code, field, message } = inCalls(problem)
  const shown = field === null ? null : shownField(field)
  return { code, field: shown, message: naming(shown, message) }
}

/** A trusted caller has no key. */
const lacking = ({ details, message }: Refusal): string =>
  "required_scope" in details
    ? `This caller lacks the scope ${details["required_scope"]}.`
    : message

export const errorOfRefusal = (refusal: Refusal, cause?: unknown): MessagingError =>
  new MessagingError(
    {
      ...problemOf({
        code: refusal.code,
        field: refusal.field,
        message: lacking(refusal),
      }),
      status: refusal.status,
      errors: refusal.errors.map(problemOf),
      details: Object.fromEntries(
        Object.entries(refusal.details).map(([name, value]) => [shownField(name), value]),
      ),
      retryAfterMillis: refusal.retryAfter === null ? null : refusal.retryAfter * 1000,
    },
    cause === undefined ? undefined : { cause },
  )

/** The service is closed, or closing. */
export const closed = (): MessagingError =>
  new MessagingError({ code: "closed", status: 503, message: "The messaging service is closed." })

const errorOfOptions = ({ first, others }: WrongOptions): MessagingError => {
  const told = ({ field, rule }: Wrong) => ({
    code: "cannot_start" as const,
    field,
    message: `${field} ${rule}`,
  })
  return new MessagingError({ ...told(first), status: 500, errors: others.map(told) })
}

const errorOfFailure = (failure: Failure | CannotStart | WrongOptions): MessagingError => {
  if (failure instanceof Refusal) return errorOfRefusal(failure)
  if (failure instanceof WrongOptions) return errorOfOptions(failure)
  if (failure instanceof StoreUnavailable) return errorOfRefusal(refusalOfStore(failure), failure)
  const message = inOptions(failure.message)
  const [field = null] = optionFirst.exec(message) ?? []
  return new MessagingError({ code: "cannot_start", status: 500, field, message })
}

/** What a line of the configuration calls the options of the front door. */
const options: Readonly<Record<string, string>> = {
  DATABASE_URL: "store.postgres",
  DATA_DIR: "dataDirectory",
  SECRETS_KEY: "secretsKey",
  [embeddedDatabase]: "store.embedded",
  "TRANSPORT=live": 'transport: "live"',
  "TRANSPORT=simulated": 'transport: "simulated"',
}

const named = new RegExp(String.raw`\b(?:${Object.keys(options).join("|")})\b`, "g")

const inOptions = (line: string): string => line.replaceAll(named, (name) => options[name] ?? name)

/** The option that a line begins with is the one to change. */
const optionFirst = /^(?:store|transport|dataDirectory|secretsKey)\b(?:\.\w+)*/

/** What a promise rejects with. */
export const errorOf = (
  cause: Cause.Cause<Failure | CannotStart | WrongOptions>,
): MessagingError => {
  const failure = cause.reasons.find(Cause.isFailReason)
  if (failure !== undefined) return errorOfFailure(failure.error)
  if (Cause.hasInterruptsOnly(cause)) return closed()
  return errorOfRefusal(refuse("internal_error"), Cause.squash(cause))
}
