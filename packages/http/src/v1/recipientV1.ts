/**
 * Whom version 1 sends to, in version 2's words (contract: Version 1: sends). Country code and
 * phone come apart and are joined; a phone that begins with `@` is a Telegram username.
 */
import { isGroupName, maximumRecipients, parsePhone, parseUsername } from "@messaging-service/core"
import { Result } from "effect"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import { string, strings } from "./FieldsV1.ts"
import type { ReadFieldsV1 } from "./FieldsV1.ts"

/** `to` of version 2. */
export type RecipientV1 =
  | { readonly phone: string }
  | { readonly group: string }
  | { readonly username: string }

const countryCode = {
  country_code: string("Digits; without it the phone must carry its country code."),
}

export const phoneFields = {
  ...countryCode,
  phone: string("Digits, or a Telegram username as `@name`; either this or `group_name`."),
}

export const groupFields = { group_name: string("The exact name of a WhatsApp group.") }

export const phonesFields = {
  ...countryCode,
  phones: strings(maximumRecipients, "1 to 1,000 phones, as a list or with commas between them."),
}

const compact = (text: string): string => text.replaceAll(/[ -]+/g, "")

/** The digits of a country code, read once for all phones that share it: it may be long. */
const prefixOf = (code: string | null): string => compact(code ?? "").replace(/^\+/, "")

/** `+` and digits; a phone with its own `+` has its country code already. */
const international = (phone: string, prefix: string): string => {
  const digits = compact(phone)
  if (digits.startsWith("+")) return digits
  return prefix === "" ? `+${digits}` : `+${prefix}${digits.replace(/^0+/, "")}`
}

/** A phone, whose country code may be apart from it, or a username. Fails with `invalid_phone`. */
const personOf = (given: string, prefix = ""): Result.Result<RecipientV1, FailureV1> => {
  const text = given.trim()
  if (text.startsWith("@")) {
    return parseUsername(text) === undefined
      ? Result.fail(failV1("invalid_phone"))
      : Result.succeed({ username: text })
  }
  const phone = parsePhone(international(text, prefix))
  return phone === undefined ? Result.fail(failV1("invalid_phone")) : Result.succeed({ phone })
}

export const groupOf = ({
  group_name,
}: ReadFieldsV1<typeof groupFields>): Result.Result<RecipientV1, FailureV1> => {
  if (group_name === null) return Result.fail(failV1("no_group"))
  return isGroupName(group_name)
    ? Result.succeed({ group: group_name })
    : Result.fail(failV1("invalid_group"))
}

/** The recipient of a single send. Fails unless exactly one of `phone` and `group_name` is given. */
export const recipientOf = (
  fields: ReadFieldsV1<typeof phoneFields & typeof groupFields>,
): Result.Result<RecipientV1, FailureV1> => {
  const { country_code, group_name, phone } = fields
  if (phone !== null && group_name !== null) return Result.fail(failV1("two_recipients"))
  if (phone !== null) return personOf(phone, prefixOf(country_code))
  return group_name === null ? Result.fail(failV1("no_recipient")) : groupOf(fields)
}

/** Fails with `no_phones`, `too_many_phones`, `invalid_phone`. */
export const recipientsOf = ({
  country_code,
  phones,
}: ReadFieldsV1<typeof phonesFields>): Result.Result<ReadonlyArray<RecipientV1>, FailureV1> => {
  if (phones.length === 0) return Result.fail(failV1("no_phones"))
  if (phones.length > maximumRecipients) return Result.fail(failV1("too_many_phones"))
  const prefix = prefixOf(country_code)
  const recipients: Array<RecipientV1> = []
  for (const phone of phones) {
    const recipient = personOf(phone ?? "", prefix)
    if (Result.isFailure(recipient)) return Result.fail(recipient.failure)
    recipients.push(recipient.success)
  }
  return Result.succeed(recipients)
}

/** E.164 with its `+`, which may have been left out. Fails with `invalid_phone`. */
export const phoneOf = (given: string): Result.Result<string, FailureV1> =>
  Result.flatMap(personOf(given), (person) =>
    "phone" in person ? Result.succeed(person.phone) : Result.fail(failV1("invalid_phone")),
  )
