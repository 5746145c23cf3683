/** Failures of the core, as the one error that callers of the front door see. */
import { Refusal, StoreUnavailable, refusalOfStore, refuse } from "@messaging-service/core"
import type { Failure } from "@messaging-service/core"
import { Cause } from "effect"
import { MessagingError } from "../MessagingError.ts"
import { CannotStart } from "../compose/CannotStart.ts"
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

const problemOf = ({ code, field, message }: Refusal["errors"][number]) => {
  const shown = field === null ? null : shownField(field)
  return { code, field: shown, message: naming(shown, message) }
}

export const errorOfRefusal = (refusal: Refusal, cause?: unknown): MessagingError =>
  new MessagingError(
    {
      ...problemOf(refusal),
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
  "TRANSPORT=live": 'transport: "live"',
  "TRANSPORT=simulated": 'transport: "simulated"',
}

const inOptions = (line: string): string =>
  line.replaceAll(
    /\b(?:DATABASE_URL|DATA_DIR|SECRETS_KEY|TRANSPORT=(?:live|simulated))\b/g,
    (name) => options[name] ?? name,
  )

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
