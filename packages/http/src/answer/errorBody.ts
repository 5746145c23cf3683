/** Refusals as answers: the error object and the headers that go with it (contract: Errors). */
import type { Refusal } from "@messaging-service/core"
import type { Exchange, Reply } from "./Exchange.ts"

/** Where the error catalogue explains a code. */
const docsOf = (publicUrl: string, code: string): string => `${publicUrl}/docs/errors#${code}`

const errorBody = (refusal: Refusal, requestId: string, publicUrl: string) => ({
  error: {
    code: refusal.code,
    message: refusal.message,
    field: refusal.field,
    docs: docsOf(publicUrl, refusal.code),
    request_id: requestId,
    ...(refusal.errors.length === 0
      ? {}
      : { errors: refusal.errors.map(({ field, message }) => ({ field, message })) }),
    ...refusal.details,
  },
})

/** Writes the refusal's headers into the exchange and returns what it is answered with. */
export const refusalReply = (exchange: Exchange, refusal: Refusal, publicUrl: string): Reply => {
  if (refusal.status === 401) exchange.headers["www-authenticate"] = 'Bearer realm="service"'
  if (refusal.retryAfter !== null) exchange.headers["retry-after"] = String(refusal.retryAfter)
  return { status: refusal.status, body: errorBody(refusal, exchange.id, publicUrl) }
}
