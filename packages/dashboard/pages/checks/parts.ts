/** Phones as requests of at most 1,000 each; none asks again for what another try asked. */
import type { NumberCheck } from "@messaging-service/client"

/** As the service spells them (contract: Recipients); which calling codes there are, it knows alone. */
export const phonePattern = /^\+[1-9]\d{6,14}$/

export interface PhoneLine {
  readonly phone: string
  /** Of the text, from 1. */
  readonly line: number
}

/** Each once, at its first line. */
export const phonesIn = (text: string): ReadonlyArray<PhoneLine> => {
  const found = new Map<string, PhoneLine>()
  for (const [index, row] of text.split("\n").entries()) {
    for (const part of row.split(/[,;\t]+/)) {
      const phone = part.replaceAll(/[\s()-]/g, "")
      if (phone !== "" && !found.has(phone)) found.set(phone, { phone, line: index + 1 })
    }
  }
  return [...found.values()]
}

export interface RequestedCheck {
  readonly phones: ReadonlyArray<string>
  readonly from: number | null
  readonly name: string
}

/** One request with its key. */
export interface Part {
  readonly key: string
  readonly body: Omit<RequestedCheck, "name"> & { readonly name: string | null }
  /** What the service answered; null while it is not known whether it has the request. */
  readonly check: NumberCheck | null
}

export const partMax = 1000

/**
 * The requests for those phones: the parts of earlier tries as they were, unless one asks for more or from another
 * number, and new ones for the rest. So a part that was accepted, or may have been, keeps its key.
 */
export const partsFor = (
  { from, name, phones }: RequestedCheck,
  earlier: ReadonlyArray<Part>,
  newKey: () => string,
): ReadonlyArray<Part> => {
  const requested = new Set(phones)
  const remaining = earlier.filter(
    ({ body }) => body.from === from && body.phones.every((phone) => requested.has(phone)),
  )
  for (const { body } of remaining) for (const phone of body.phones) requested.delete(phone)
  const rest = [...requested]
  const count = remaining.length + Math.ceil(rest.length / partMax)
  const added = Array.from({ length: count - remaining.length }, (_, index): Part => {
    const called = count === 1 ? name : `${name} ${remaining.length + index + 1}/${count}`.trim()
    const part = rest.slice(index * partMax, (index + 1) * partMax)
    return {
      key: newKey(),
      body: { phones: part, from, name: called === "" ? null : called },
      check: null,
    }
  })
  return [...remaining, ...added]
}

/** The service has nothing of a request in which it names something wrong; of any other failure this is not known. */
const namesField = (error: unknown): boolean =>
  error instanceof Error && "field" in error && error.field !== null

/** Sends what has no answer yet, up to the first failure. `known`: what the service has, or may have. */
export const requestParts = async (
  parts: ReadonlyArray<Part>,
  send: (part: Part) => Promise<NumberCheck>,
): Promise<{
  readonly known: ReadonlyArray<Part>
  readonly failed: Part | null
  readonly error: unknown
}> => {
  const known = [...parts]
  for (const [index, part] of parts.entries()) {
    if (part.check !== null) continue
    try {
      known[index] = { ...part, check: await send(part) }
    } catch (error) {
      const tried = known.slice(0, namesField(error) ? index : index + 1)
      return { known: tried, failed: part, error }
    }
  }
  return { known, failed: null, error: null }
}
