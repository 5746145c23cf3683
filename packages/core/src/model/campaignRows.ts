/**
 * What a row of a campaign becomes: pending, or refused with a code and a field, which stops no
 * other row (campaigns: 3). Pure.
 */
import { Result } from "effect"
import { pastTime } from "./accept.ts"
import type {
  CampaignSettings,
  NewCampaignRow,
  RowCode,
  RowNeeds,
  RowRecipient,
  RowRefusal,
} from "./Campaign.ts"
import { momentInZone } from "./Cron.ts"
import type { TimeZone } from "./Cron.ts"
import type { GivenRow } from "./CampaignInput.ts"
import { codePointLength, isBlank } from "./Input.ts"
import { contactAddress, isGroupName, parsePhone, parseUsername } from "./Recipient.ts"
import type { Phone } from "./Recipient.ts"
import { maximumTextLength } from "./SendRequest.ts"
import { parseTemplate, renderTemplate } from "./template.ts"
import type { Template } from "./template.ts"
import { compareInstants, parseInstant } from "./Time.ts"
import type { Instant } from "./Time.ts"

const refusal = (code: RowCode, field: string, row: number | null = null): RowRefusal => ({
  code,
  field,
  row,
})

interface Addressed {
  readonly to: RowRecipient
  readonly needs: RowNeeds
  readonly recipientKey: string
  readonly phone: Phone | null
}

/** Of a shorter text no phone is left out: 15 digits, and spaces and dashes among them. */
const longestPhone = 1000

/**
 * The phone of a row. Without `+` it loses spaces, dashes and one leading 0, and gets the code in
 * front; a code is never guessed.
 */
export const rowPhone = (text: string, defaultCountryCode: string | null): Phone | undefined => {
  const compact = text.slice(0, longestPhone).replaceAll(/[ -]+/g, "")
  if (defaultCountryCode === null || compact.startsWith("+")) return parsePhone(text)
  if (text.length > longestPhone || compact.startsWith("00")) return undefined
  return parsePhone(`+${defaultCountryCode}${compact.replace(/^0/, "")}`)
}

const addressed = (
  to: RowRecipient,
  { defaultCountryCode }: Pick<CampaignSettings, "defaultCountryCode">,
): Result.Result<Addressed, RowRefusal> => {
  if ("phone" in to) {
    const phone = rowPhone(to.phone, defaultCountryCode)
    return phone === undefined
      ? Result.fail(refusal("invalid_phone", "to.phone"))
      : Result.succeed({ to: { phone }, needs: "either", recipientKey: `phone:${phone}`, phone })
  }
  if ("username" in to) {
    if (parseUsername(to.username) === undefined) {
      return Result.fail(refusal("invalid_username", "to.username"))
    }
    const recipientKey = `user:${contactAddress({ phone: null, username: to.username })}`
    return Result.succeed({ to, needs: "telegram", recipientKey, phone: null })
  }
  if ("group" in to) {
    return isGroupName(to.group)
      ? Result.succeed({
          to,
          needs: "whatsapp",
          recipientKey: `group:${to.group}`,
          phone: null,
        })
      : Result.fail(refusal("validation_failed", "to.group"))
  }
  const recipientKey = `contact:${to.contactId}`
  return Result.succeed({ to, needs: "either", recipientKey, phone: null })
}

/** The text of a row, or why it may not be sent. */
const sendableText = (
  template: Template,
  values: Readonly<Record<string, string>>,
  { media }: Pick<CampaignSettings, "media">,
): Result.Result<string, RowRefusal> => {
  const text = renderTemplate(template, values)
  if (Result.isFailure(text)) {
    return Result.fail(refusal("placeholder_empty", `values.${text.failure}`))
  }
  if (isBlank(text.success) && media === null) {
    return Result.fail(refusal("text_required", "text"))
  }
  return codePointLength(text.success) > maximumTextLength
    ? Result.fail(refusal("text_too_long", "text"))
    : Result.succeed(text.success)
}

/** A stored text was parsed before. */
const storedTemplate = (text: string): Template =>
  Result.getOrElse(parseTemplate(text), (): Template => [])

/** The same of a row that waits. */
export const rowTextToSend = (
  campaign: Pick<CampaignSettings, "media" | "text">,
  { values }: Pick<NewCampaignRow, "values">,
): Result.Result<string, RowRefusal> =>
  sendableText(storedTemplate(campaign.text), values ?? {}, campaign)

const wallForm = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)$/

/**
 * The time of a row. Of a file it may come without an offset, and is then on the clocks of the zone: in
 * a gap of them the first moment behind it, of a repeated one its first.
 */
const rowTime = (text: string, zone: TimeZone | null): Instant | undefined => {
  const wall = zone === null ? null : wallForm.exec(text)
  if (zone === null || wall === null) return parseInstant(text)
  const instant = parseInstant(`${wall[1]}T${wall[2]}Z`)
  if (instant === undefined) return undefined
  return { millis: momentInZone(instant.millis, zone), beyond: instant.beyond }
}

interface RowTimes {
  readonly sendAt: Instant | null
  readonly expiresAt: Instant | null
}

const campaignTime = (millis: number | null): Instant | null =>
  millis === null ? null : { millis, beyond: "" }

const rowTimes = (
  input: GivenRow,
  settings: CampaignSettings,
  now: number,
): Result.Result<RowTimes, RowRefusal> => {
  const zone = input.line === null ? null : settings.timezone
  const times: Record<keyof RowTimes, Instant | null> = { sendAt: null, expiresAt: null }
  for (const field of ["sendAt", "expiresAt"] as const) {
    const text = input[field]
    if (text === null) continue
    const time = rowTime(text, zone)
    if (time === undefined) return Result.fail(refusal("invalid_datetime", field))
    times[field] = time
  }
  const sendAt = times.sendAt ?? campaignTime(settings.sendAt)
  const expiresAt = times.expiresAt ?? campaignTime(settings.expiresAt)
  const isGiven = times.sendAt !== null || times.expiresAt !== null
  if (isGiven && sendAt !== null && expiresAt !== null && compareInstants(expiresAt, sendAt) <= 0) {
    const field = times.expiresAt === null ? "sendAt" : "expiresAt"
    return Result.fail(refusal("validation_failed", field))
  }
  const past = pastTime(times, now)?.field
  if (past != null) return Result.fail(refusal("time_in_past", past))
  return Result.succeed(times)
}

/** Characters of a recipient that no one could be reached by, which are kept to show it. */
const shownOfRecipient = 500

const shortened = (to: RowRecipient): RowRecipient => {
  const short = (text: string) =>
    text.length <= shownOfRecipient
      ? text
      : `${text.slice(0, shownOfRecipient).replace(/[\ud800-\udbff]$/, "")}…`
  if ("phone" in to) return { phone: short(to.phone) }
  if ("username" in to) return { username: short(to.username) }
  return "group" in to ? { group: short(to.group) } : to
}

/** Checks the rows of a campaign, apart from `duplicates`. */
export const rowChecker = (settings: CampaignSettings, now: number) => {
  const template = storedTemplate(settings.text)
  return (input: GivenRow, row: number): NewCampaignRow => {
    const { line, to, values } = input
    const known = addressed(to, settings)
    const times = rowTimes(input, settings, now)
    const refused = (why: RowRefusal): NewCampaignRow => ({
      row,
      line,
      to: Result.isSuccess(known) ? known.success.to : shortened(to),
      needs: null,
      recipientKey: null,
      phone: Result.isSuccess(known) ? known.success.phone : null,
      values,
      sendAt: Result.isSuccess(times) ? (times.success.sendAt?.millis ?? null) : null,
      expiresAt: Result.isSuccess(times) ? (times.success.expiresAt?.millis ?? null) : null,
      state: "refused",
      refusal: why,
    })
    if (Result.isFailure(known)) return refused(known.failure)
    const text = sendableText(template, values, settings)
    if (Result.isFailure(text)) return refused(text.failure)
    if (Result.isFailure(times)) return refused(times.failure)
    return {
      row,
      line,
      ...known.success,
      values,
      sendAt: times.success.sendAt?.millis ?? null,
      expiresAt: times.success.expiresAt?.millis ?? null,
      state: "pending",
      refusal: null,
    }
  }
}

/** The keys to look up before `dropDuplicates`. */
export const recipientKeys = (rows: ReadonlyArray<NewCampaignRow>): ReadonlyArray<string> => [
  ...new Set(rows.flatMap(({ recipientKey }) => recipientKey ?? [])),
]

/**
 * Refuses rows of a recipient that an earlier pending row has, of these or of those before
 * (`firstRows`). A refused row is none: its recipient would get nothing.
 */
export const dropDuplicates = (
  rows: ReadonlyArray<NewCampaignRow>,
  firstRows: ReadonlyMap<string, number>,
): ReadonlyArray<NewCampaignRow> => {
  const first = new Map(firstRows)
  return rows.map((row) => {
    if (row.recipientKey === null) return row
    const earlier = first.get(row.recipientKey)
    if (earlier === undefined) {
      first.set(row.recipientKey, row.row)
      return row
    }
    const field = `to.${Object.keys(row.to)[0] ?? ""}`
    return {
      ...row,
      needs: null,
      recipientKey: null,
      state: "refused",
      refusal: refusal("duplicate_recipient", field, earlier),
    }
  })
}

/** The text of a row as it would be sent; null when it is refused, or its values are gone. */
export const rowText = (
  text: string,
  { state, values }: Pick<NewCampaignRow, "values" | "state">,
): string | null => {
  if (values === null || state === "refused") return null
  return Result.getOrElse(renderTemplate(storedTemplate(text), values), () => null)
}
