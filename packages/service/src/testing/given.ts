/** What a test gives, its options, moments and spans, held to rules. */
import { dailyQuota } from "@messaging-service/core"
import { MessagingError } from "../MessagingError.ts"
import type { Moment } from "../api/common.ts"
import { errorOfRefusal } from "../door/failure.ts"
import { logger } from "../door/openRules.ts"
import { anything, fields, isObject, isText, must, refusalOf, wholeNumber } from "../door/rules.ts"
import type { Rule } from "../door/rules.ts"
import type { QuotaUse, Span, TestOptions } from "./TestMessaging.ts"

const dayMillis = 86_400_000

const unitMillis: Readonly<Record<keyof Span, number>> = {
  days: dayMillis,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1000,
  millis: 1,
}

/** What a test gave that it cannot mean. */
export const wrong = (field: string, rule: string) =>
  new MessagingError({
    code: "validation_failed",
    status: 400,
    field,
    message: `${field}: must be ${rule}`,
  })

const momentRule = "a moment with an offset, such as 2026-01-15T12:00:00Z"

/** Milliseconds of what names a moment. Without an offset it would be another one on each machine. */
export const momentOf = (field: string, moment: Moment): number => {
  const isMoment =
    moment instanceof Date || (isText(moment) && /(?:Z|[+-]\d\d:\d\d)$/i.test(moment))
  const millis = isMoment ? new Date(moment).getTime() : Number.NaN
  if (Number.isNaN(millis)) throw wrong(field, momentRule)
  return millis
}

/** What a moment and a workspace must be is said where they are read. */
export const testRules = fields<TestOptions>({
  at: anything,
  seed: must("a text or a number", (seed) => isText(seed) || Number.isFinite(seed)),
  interleave: must("true or false", (interleave) => typeof interleave === "boolean"),
  workspace: must("an object", isObject),
  logger,
})

/** What a quota is to be used up by. */
export const quotaRules = fields<QuotaUse>({
  leave: wholeNumber(0, dailyQuota.messages),
  number: anything,
})

/** Throws what is wrong with what a test was given. */
export const hold = (rule: Rule, given: unknown) => {
  const refusal = refusalOf(rule, given)
  if (refusal !== undefined) throw errorOfRefusal(refusal)
}

/** Milliseconds of a span. */
export const millisOf = (span: Span): number => {
  const parts = Object.entries(span ?? { nothing: 1 })
  const millis = parts.reduce(
    (sum, [unit, count]) => sum + (unitMillis[unit as keyof Span] ?? Number.NaN) * (count ?? 0),
    0,
  )
  if (!Number.isSafeInteger(millis) || millis < 0) {
    throw wrong("span", "days, hours, minutes, seconds and millis, forward in time")
  }
  return millis
}
