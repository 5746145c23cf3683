/**
 * Times of version 1: a date, a time and a zone apart, and seconds instead of an end (contract:
 * Version 1: sends). Days are written the British way.
 */
import { formatInstant, momentInZone, parseInstant, parseTimeZone } from "@messaging-service/core"
import { Result } from "effect"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import { integer, string, within } from "./FieldsV1.ts"
import type { ReadFieldsV1 } from "./FieldsV1.ts"

export const scheduleFields = {
  date: string("`dd/mm/yyyy`.", { required: true }),
  time: string("`HH:MM`.", { required: true }),
  timezone: string("IANA name of the zone of `date` and `time`; UTC when left out."),
}

export const expiryFields = {
  expire_after_seconds: integer(
    "Counted from when it is due: what was not sent by then is not sent any more.",
  ),
}

const slashed = /^(\d{2})\/(\d{2})\/(\d{4})$/
const dashed = /^(\d{2})-(\d{2})-(\d{4})$/
const clock = /^(\d{2}):(\d{2})$/

const dayOf = (form: RegExp, text: string): string | undefined => {
  const [, day, month, year] = form.exec(text.trim()) ?? []
  return day === undefined ? undefined : `${year}-${month}-${day}`
}

/** The start of a `dd-mm-yyyy` in UTC, in epoch milliseconds; undefined for any other text. */
export const startOfDay = (text: string): number | undefined => {
  const day = dayOf(dashed, text)
  return day === undefined ? undefined : parseInstant(`${day}T00:00Z`)?.millis
}

/** Epoch milliseconds. Fails with `invalid_date`, `invalid_time`, `invalid_timezone`. */
export const scheduledAt = ({
  date,
  time,
  timezone,
}: ReadFieldsV1<typeof scheduleFields>): Result.Result<number, FailureV1> => {
  const day = dayOf(slashed, date ?? "")
  if (day === undefined || parseInstant(`${day}T00:00Z`) === undefined) {
    return Result.fail(failV1("invalid_date"))
  }
  const hours = clock.exec((time ?? "").trim())?.[0]
  const shown = hours === undefined ? undefined : parseInstant(`${day}T${hours}Z`)
  if (shown === undefined) return Result.fail(failV1("invalid_time"))
  const zone = parseTimeZone(timezone?.trim() ?? "UTC")
  if (zone === undefined) return Result.fail(failV1("invalid_timezone"))
  return Result.succeed(momentInZone(shown.millis, zone))
}

/** More than any message waits; beyond it there are no dates. */
const maximumSeconds = 100 * 366 * 86_400

/** Whole seconds; null for a message that does not expire. */
export const expiryOf = ({ expire_after_seconds }: ReadFieldsV1<typeof expiryFields>) =>
  within(expire_after_seconds, null, 1, maximumSeconds, "invalid_expiry")

/** Epoch milliseconds in version 2's words, to the millisecond. */
export const instantText = (millis: number): string =>
  formatInstant(millis).replace("Z", `.${String(millis % 1000).padStart(3, "0")}Z`)
