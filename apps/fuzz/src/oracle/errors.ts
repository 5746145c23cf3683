/** Refusals: their code, its status, their size, and their headers. */
import { catalogue } from "@messaging-service/core"
import { isJson } from "@messaging-service/testkit/openapi"
import { findHeader } from "../wire/AnswerReader.ts"
import type { WireAnswer } from "../wire/AnswerReader.ts"
import { finding } from "./Finding.ts"
import type { Finding } from "./Finding.ts"
import type { Route } from "./Route.ts"

/** Maximum length of a refusal. */
const maximumBytes = 64 * 1024
const maximumErrors = 50

/** Codes that any address can answer with, documented for its operation or not. */
const ofAnyAddress = ["not_found", "method_not_allowed"]

interface Entry {
  readonly status: number
  readonly pathStatus?: number
}

const findEntry = (code: string): Entry | undefined =>
  Object.hasOwn(catalogue, code) ? (catalogue as Readonly<Record<string, Entry>>)[code] : undefined

/** The faults of a refusal; none when the answer is not a refusal. */
export const judgeError = (
  { operation, part }: Route,
  answer: WireAnswer,
): ReadonlyArray<Finding> => {
  const { body, headers, status } = answer
  if (status < 400) return []
  const kind = `${operation?.id ?? part} ${status}`
  const tooLong =
    body.length > maximumBytes
      ? [finding(`${kind}: a refusal of more than 64 KiB`, `${body.length} bytes`)]
      : []
  const isObject = (findHeader(headers, "content-type") ?? "").startsWith("application/json")
  if (!isObject || part === "v1" || body.length === 0) return tooLong
  const error = findError(body)
  if (error === undefined) {
    // The health of a store that does not answer is not a refusal.
    return operation?.id === "isReady" ? tooLong : [...tooLong, finding(`${kind}: no error object`)]
  }
  const code = String(error["code"])
  const entry = findEntry(code)
  const documented = operation?.responses[String(status)]?.codes ?? ofAnyAddress
  const errors = error["errors"]
  const rules: ReadonlyArray<readonly [holds: boolean, rule: string]> = [
    [entry !== undefined, `the code ${code} is not in the catalogue`],
    [
      entry === undefined || entry.status === status || entry.pathStatus === status,
      `the code ${code} has another status in the catalogue`,
    ],
    [documented.includes(code) || status === 503, `the code ${code} is not documented`],
    [
      error["request_id"] === findHeader(headers, "x-request-id"),
      "request_id is not that of the header",
    ],
    [String(error["docs"]).endsWith(`/docs/errors#${code}`), "docs does not lead to the code"],
    [!Array.isArray(errors) || errors.length <= maximumErrors, "more than 50 in errors"],
  ]
  const broken = rules.filter(([isMet]) => !isMet)
  return [...tooLong, ...broken.map(([, rule]) => finding(`${kind}: ${rule}`))]
}

const findError = (body: Buffer): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value = JSON.parse(body.toString()) as unknown
    const error = isJson(value) ? value["error"] : undefined
    return isJson(error) ? error : undefined
  } catch {
    return undefined
  }
}
