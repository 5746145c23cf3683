/**
 * Phones with a separate country code (contract: Version 1: sends). Callers write them as people dial them
 * at home, with a trunk prefix or the country code itself. Numbering plans decide what they mean.
 */
import { parsePhoneNumberFromString, PhoneNumber } from "libphonenumber-js/max"
import type { E164Number } from "libphonenumber-js/max"

/** Whether the digits, exactly as they are, are a number of their country's plan. */
const isValid = (digits: string): boolean => {
  const number = `+${digits}` as E164Number
  return parsePhoneNumberFromString(number) !== undefined && new PhoneNumber(number).isValid()
}

/** Without the trunk prefix of the country, `0` in most; undefined when that is not a valid number. */
const withoutTrunkPrefix = (digits: string): string | undefined => {
  const parsed = parsePhoneNumberFromString(`+${digits}`)
  return parsed?.isValid() === true ? parsed.number.slice(1) : undefined
}

/** No number is longer, with its prefixes. */
const maxDigits = 25

/**
 * The digits of a phone with its country code: code and phone, the same without the trunk prefix, or the phone alone
 * if it begins with the code; the first that is a valid number. Else code and phone without leading zeros.
 */
export const withCountryCode = (code: string, phone: string): string => {
  const both = code + phone
  const withoutZeros = code + phone.replace(/^0+/, "")
  if (both.length > maxDigits || !/^\d+$/.test(both)) return withoutZeros
  if (isValid(both)) return both
  const national = withoutTrunkPrefix(both)
  if (national !== undefined) return national
  return phone.startsWith(code) && isValid(phone) ? phone : withoutZeros
}
