/**
 * Reads HTTP/1.1 answers from bytes, strictly: what a forgiving client would overlook is a fault of
 * the service here.
 */

export interface WireAnswer {
  readonly status: number
  /** Lower-case names, in order. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Buffer
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean
}

export type Reading =
  | { readonly kind: "more" }
  | { readonly kind: "answer"; readonly answer: WireAnswer; readonly length: number }
  | { readonly kind: "malformed"; readonly why: string }

const headEnd = Buffer.from("\r\n\r\n")
const malformed = (why: string): Reading => ({ kind: "malformed", why })
const more: Reading = { kind: "more" }

/** The first value of a header. */
export const findHeader = (headers: WireAnswer["headers"], name: string): string | undefined =>
  headers.find(([each]) => each === name)?.[1]

/**
 * Reads the first final answer; skips 1xx ones before it. `ended`: the connection was closed after the bytes.
 */
export const readAnswer = (bytes: Buffer, method: string, ended: boolean): Reading => {
  let start = 0
  for (;;) {
    const end = bytes.indexOf(headEnd, start)
    if (end === -1) return ended && bytes.length > start ? malformed("cut in its head") : more
    const head = readHead(bytes.toString("latin1", start, end))
    if (typeof head === "string") return malformed(head)
    start = end + headEnd.length
    // 101 is final too, and no valid answer of the service.
    if (head.status >= 200 || head.status === 101) {
      return readBody(bytes, start, head, method, ended)
    }
  }
}

type Head = Pick<WireAnswer, "status" | "headers">

const readHead = (text: string): Head | string => {
  const [first = "", ...lines] = text.split("\r\n")
  const status = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(first)?.[1]
  if (status === undefined) return `status line ${JSON.stringify(first.slice(0, 80))}`
  const headers: Array<readonly [string, string]> = []
  for (const line of lines) {
    const field = /^([!#$%&'*+.^_`|~\w-]+): *([\x20-\x7e\t]*)$/.exec(line)
    if (field === null) return `header line ${JSON.stringify(line.slice(0, 80))}`
    headers.push([(field[1] ?? "").toLowerCase(), field[2] ?? ""])
  }
  return { status: Number(status), headers }
}

const readBody = (
  bytes: Buffer,
  start: number,
  head: Head,
  method: string,
  ended: boolean,
): Reading => {
  const keepsAlive = findHeader(head.headers, "connection") !== "close"
  const whole = (body: Buffer, length: number): Reading => ({
    kind: "answer",
    answer: { ...head, body, keepsAlive },
    length,
  })
  if (method === "HEAD" || head.status === 204 || head.status === 304) {
    return whole(Buffer.alloc(0), start)
  }
  const length = findHeader(head.headers, "content-length")
  if (length !== undefined) {
    const end = start + Number(length)
    if (bytes.length >= end) return whole(bytes.subarray(start, end), end)
    return ended ? malformed("cut in its body") : more
  }
  if (findHeader(head.headers, "transfer-encoding") === "chunked") {
    return readChunks(bytes, start, ended, whole)
  }
  // The end of the connection ends the body.
  return ended ? whole(bytes.subarray(start), bytes.length) : more
}

const readChunks = (
  bytes: Buffer,
  start: number,
  ended: boolean,
  whole: (body: Buffer, length: number) => Reading,
): Reading => {
  const parts: Array<Buffer> = []
  let at = start
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at)
    if (lineEnd === -1) return ended ? malformed("cut in a chunk") : more
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16)
    if (!Number.isInteger(size)) return malformed("chunk without a size")
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return ended ? malformed("cut in a chunk") : more
    if (size === 0) return whole(Buffer.concat(parts), next)
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = next
  }
}
