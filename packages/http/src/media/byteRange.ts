/** The `Range` header, as far as it asks for one range of bytes; everything else is passed over. */

export interface ByteRange {
  readonly start: number
  /** Behind the last byte. */
  readonly end: number
}

const form = /^bytes=(\d{0,15})-(\d{0,15})$/

/**
 * The part of a content of that size that is asked for; `undefined` for all of it, `null` for one
 * that the content does not have.
 */
export const byteRange = (
  header: string | undefined,
  size: number,
): ByteRange | null | undefined => {
  const match = form.exec(header?.trim() ?? "")
  const [first = "", last = ""] = match?.slice(1) ?? []
  if (first === "" && last === "") return undefined
  if (first === "") {
    const length = Math.min(Number(last), size)
    return length === 0 ? null : { start: size - length, end: size }
  }
  const start = Number(first)
  const end = last === "" ? size : Math.min(Number(last) + 1, size)
  if (last !== "" && Number(last) < start) return undefined
  return start < size ? { start, end } : null
}
