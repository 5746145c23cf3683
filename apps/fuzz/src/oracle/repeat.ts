/** A request sent twice with one `Idempotency-Key`: it must get the first answer again, and act once. */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Json } from "@messaging-service/testkit/openapi"
import type { Shot } from "../request/Shot.ts"
import { findHeader } from "../wire/AnswerReader.ts"
import type { Outcome } from "../wire/Connection.ts"
import { finding } from "./Finding.ts"
import type { Finding } from "./Finding.ts"

/**
 * Fields that a repeat changes or omits: only the first response shows a secret, and each response
 * makes a link.
 */
const changing = new Set(["secret", "url"])

const steady = (body: Buffer): string => {
  const value = JSON.parse(body.toString()) as unknown
  return JSON.stringify(value, (key, of: unknown) => (changing.has(key) ? undefined : of))
}

/** The faults of the second answer; errors are not stored, so a repeated error is not checked. */
export const judgeRepeat = (
  shot: Shot,
  first: Outcome,
  second: Outcome,
): ReadonlyArray<Finding> => {
  if (first.kind !== "answer" || first.answer.status >= 300) return []
  const { id } = shot.aim
  if (second.kind !== "answer") return [finding(`${id}: a repeat without an answer`)]
  const { body, headers, status } = second.answer
  if (status === 429) return []
  if (status !== first.answer.status) {
    return [finding(`${id}: a repeat is answered ${status}`, body.toString().slice(0, 200))]
  }
  if (findHeader(headers, "idempotent-replayed") !== "true") {
    return [finding(`${id}: a repeat without Idempotent-Replayed`)]
  }
  if (id === "createWebhook" && hasSecret(body))
    return [finding(`${id}: a repeat shows the secret`)]
  return steady(body) === steady(first.answer.body)
    ? []
    : [finding(`${id}: a repeat is another answer`, body.toString().slice(0, 200))]
}

const hasSecret = (body: Buffer): boolean => {
  const value = JSON.parse(body.toString()) as Json
  return isJson(value) && "secret" in value
}
