/** The headers of answers, by status and caller. */
import { ratePolicy } from "@messaging-service/core"
import { isKeyName } from "../request/headers.ts"
import type { Shot } from "../request/Shot.ts"
import { findHeader } from "../wire/AnswerReader.ts"
import type { WireAnswer } from "../wire/AnswerReader.ts"
import { finding } from "./Finding.ts"
import type { Finding } from "./Finding.ts"
import type { Route } from "./Route.ts"

const requestId = /^req_[A-Za-z0-9]{24}$/
const wholeNumber = /^\d+$/

/** The id that must be echoed, undefined for none; null where HTTP merges several into one. */
const clientsId = ({ headers }: Shot): string | undefined | null => {
  const input = headers.filter(([name]) => name.toLowerCase() === "x-request-id")
  if (input.length > 1) return null
  const value = input[0]?.[1].replaceAll(/^[ \t]+|[ \t]+$/g, "")
  return value !== undefined && /^[\x20-\x7e]{1,100}$/.test(value) ? value : undefined
}

/** Rules of every answer; a violation is named without the operation, since it is one fault. */
export const judgeHeaders = (
  shot: Shot,
  { headers, status }: WireAnswer,
  code: string | undefined,
): ReadonlyArray<Finding> => {
  const of = (name: string) => findHeader(headers, name)
  const names = headers.map(([name]) => name)
  const retryAfter = of("retry-after")
  const isRetried = status === 429 || status === 503 || code === "idempotency_in_progress"
  // The store's health has no time.
  const mayRetry = isRetried && !(status === 503 && code === undefined)
  const expected = shot.raw === undefined ? clientsId(shot) : null
  const rules: ReadonlyArray<readonly [holds: boolean, rule: string, detail?: string]> = [
    [requestId.test(of("x-request-id") ?? ""), "no X-Request-Id"],
    [
      of("cache-control") === (isCachedDocument(shot, status) ? "no-cache" : "no-store"),
      "no Cache-Control, or another than the contract's",
    ],
    [new Set(names).size === names.length, "a header twice", names.join()],
    [
      expected === null || of("x-client-request-id") === expected,
      "X-Client-Request-Id is not what the client sent",
    ],
    [
      of("www-authenticate") === (status === 401 ? 'Bearer realm="service"' : undefined),
      "WWW-Authenticate with another status than 401, or missing",
    ],
    [
      (of("allow") !== undefined) === (status === 405) || isVersion1(shot),
      "Allow with another status than 405, or missing",
    ],
    [!mayRetry || wholeNumber.test(retryAfter ?? ""), "no Retry-After"],
    [isRetried || retryAfter === undefined, "Retry-After where nothing is to be repeated"],
  ]
  return rules
    .filter(([isMet]) => !isMet)
    .map(([, rule, detail = ""]) =>
      finding(`${shot.raw === undefined ? shot.aim.part : "raw"} ${status}: ${rule}`, detail),
    )
}

/** The documents of the API, which caches keep by their tag. */
const isCachedDocument = ({ target }: Shot, status: number): boolean =>
  (status === 200 || status === 304) &&
  /^\/(?:docs(?:\/(?:errors|operations))?|openapi\.json)\/?(?:\?|$)/.test(target)

/** Version 1 answers a wrong method as its contract says, and adds `Allow`. */
const isVersion1 = ({ target }: Shot): boolean => /^\/api\/v1(?:\/|$)/.test(target)

/** Required with every response to a key that counts. */
export const rateNames = [
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  "ratelimit-policy",
]

/** Refusals of the workspace, which are not counted. */
const uncounted = new Set(["demo_account", "account_disabled", "api_v2_not_enabled"])

const isCountedKey = ({ credentials }: Shot): boolean =>
  isKeyName(credentials) && credentials !== "revoked" && credentials !== "v1"

/** Version 2 tells a valid key, and only that, how many requests it has left. */
export const judgeRates = (
  shot: Shot,
  { part }: Route,
  { headers, status }: WireAnswer,
  code: string | undefined,
): ReadonlyArray<Finding> => {
  const values = rateNames.map((name) => findHeader(headers, name))
  const visible = values.filter((value) => value !== undefined).length
  if (visible === 0) {
    const isDue =
      part === "v2" && isCountedKey(shot) && status !== 401 && !uncounted.has(code ?? "")
    // A failed count reports itself.
    return isDue && status < 500 ? [finding(`v2 ${status}: no RateLimit headers`)] : []
  }
  if (part !== "v2" || shot.credentials === "none") {
    return [finding(`${part} ${status}: RateLimit headers without a key`)]
  }
  const [limit, remaining, reset] = values.map(Number)
  const isWell =
    visible === rateNames.length &&
    (limit === 60 || limit === 10_000) &&
    within(remaining, 0, limit) &&
    within(reset, 0, 86_400) &&
    values[3] === ratePolicy
  return isWell ? [] : [finding(`v2 ${status}: RateLimit headers are wrong`, values.join())]
}

const within = (value: number | undefined, min: number, max: number): boolean =>
  value !== undefined && Number.isInteger(value) && value >= min && value <= max
