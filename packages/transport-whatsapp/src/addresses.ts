/** Addresses of persons and groups, as WhatsApp spells them. Pure. */
import type { Phone } from "@messaging-service/core"

/** `4915112345678:3@s.whatsapp.net` is a device of `4915112345678`. */
export const digitsOf = (address: string): string => /^\d*/.exec(address)?.[0] ?? ""

/** A person, whichever of its devices the address names. */
export const withoutDevice = (address: string): string => address.replace(/:\d+@/, "@")

/**
 * Digits without what some countries' mobile numbers have in one spelling and lack in another, so that
 * an answer is found for the phone that was asked about.
 */
const spelling = (digits: string): string =>
  digits
    // Brazil: a ninth digit before eight others.
    .replace(/^(55\d\d)9(\d{8})$/, "$1$2")
    // Mexico and Argentina: a digit behind the country code.
    .replace(/^(52)1(\d{10})$/, "$1$2")
    .replace(/^(54)9(\d{10})$/, "$1$2")

/**
 * The address under which the far side knows each phone that it knows. It answers with its own
 * spelling and leaves out the others.
 */
export const canonicalAddresses = (
  asked: ReadonlyArray<Phone>,
  answers: ReadonlyArray<{ readonly jid: string; readonly exists: unknown }>,
): ReadonlyMap<Phone, string> => {
  const known = answers.filter(({ exists }) => exists === true)
  const exact = new Map(known.map(({ jid }) => [digitsOf(jid), jid]))
  const spelled = new Map(known.map(({ jid }) => [spelling(digitsOf(jid)), jid]))
  return new Map(
    asked.flatMap((phone) => {
      const digits = phone.slice(1)
      const jid = exact.get(digits) ?? spelled.get(spelling(digits))
      return jid === undefined ? [] : [[phone, withoutDevice(jid)]]
    }),
  )
}
