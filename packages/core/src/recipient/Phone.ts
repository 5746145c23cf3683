/**
 * Phone numbers in E.164: `+`, country calling code, subscriber number. A number is held against the list of assigned
 * calling codes and no further: national numbering plans change faster than any copy of them, and the contract's own
 * test numbers belong to none.
 */
import type { Brand } from "effect"
import metadata from "libphonenumber-js/min/metadata"
import type { Described } from "../request/Described.ts"

/** `+` and 7 to 15 digits, the first of them an assigned country calling code. */
export type Phone = string & Brand.Brand<"Phone">

/**
 * The phone that a text stands for, once its spaces and dashes are taken out; `undefined` for what the contract calls
 * `invalid_phone`. No country code is ever guessed: a leading 0 is none.
 */
export const parsePhone = (text: string): Phone | undefined => {
  // First the spelling, so that of a long text no more than 17 runs are taken out.
  if (!spelling.test(text)) return undefined
  const compact = text.replaceAll(/[ -]+/g, "")
  return isPhone(compact) ? compact : undefined
}

const spelling = /^[ -]*\+[ -]*[1-9](?:[ -]*[0-9]){6,14}[ -]*$/

/** What the document says of a phone in a request. */
export const phoneDescribed: Described = {
  description: "E.164 with a leading +; spaces and dashes are taken out.",
  pattern: spelling.source,
  examples: ["+15550001234"],
}

/** The digits alone, country code included: the form that numbers show in `phone`. */
export const phoneDigits = (phone: Phone): string => phone.slice(1)

/** Of a text that is spelled like a phone. */
const isPhone = (text: string): text is Phone =>
  callingCodes.has(text.slice(1, 2)) ||
  callingCodes.has(text.slice(1, 3)) ||
  callingCodes.has(text.slice(1, 4))

// Codes of no country (satellite, freephone, …) stand in a table that the metadata's own type leaves out.
const nonGeographic: unknown = "nonGeographic" in metadata ? metadata.nonGeographic : undefined

const callingCodes: ReadonlySet<string> = new Set([
  ...Object.keys(metadata.country_calling_codes),
  ...(typeof nonGeographic === "object" && nonGeographic !== null
    ? Object.keys(nonGeographic)
    : []),
])
