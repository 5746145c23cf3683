/**
 * Headers that decide something, read so that a second value is never overlooked. Node drops a
 * repeated `Authorization` and joins most other headers with a comma; its raw list still has them
 * all. Web-standard headers come joined, and cannot be taken apart again.
 */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"

const hasRawHeaders = (source: object): source is { readonly rawHeaders: ReadonlyArray<string> } =>
  "rawHeaders" in source && Array.isArray(source.rawHeaders)

/** Every value of a header, given by its lower-case name; as sent where the platform tells. */
export const headerValues = (request: HttpServerRequest, name: string): ReadonlyArray<string> => {
  const known = request.headers[name]
  if (known === undefined) return []
  if (!hasRawHeaders(request.source)) return [known]
  const raw = request.source.rawHeaders
  const values: Array<string> = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const candidate = raw[at] ?? ""
    if (candidate.length === name.length && candidate.toLowerCase() === name) {
      values.push(raw[at + 1] ?? "")
    }
  }
  return values.length === 0 ? [known] : values
}

/**
 * The `Authorization` header. Sent twice it is the list that HTTP makes of repeated headers, which
 * is no key: a proxy in front and this service might each believe another one.
 */
export const authorizationOf = (request: HttpServerRequest): string | undefined => {
  const values = headerValues(request, "authorization")
  return values.length === 0 ? undefined : values.join(", ")
}

const printable = /^[\x20-\x7e]{1,100}$/

/** The client's own `X-Request-Id`, when it can be sent back; else undefined. */
export const clientRequestId = (request: HttpServerRequest): string | undefined => {
  const value = request.headers["x-request-id"]
  return value !== undefined && printable.test(value) ? value : undefined
}

/** Whether a body comes as it is: what is compressed is not read. */
export const isPlain = (contentEncoding: string | undefined): boolean =>
  contentEncoding === undefined || contentEncoding.trim().toLowerCase() === "identity"

/** Whether the client says beforehand that its body is longer than that many bytes. */
export const declaresMoreThan = (contentLength: string | undefined, bytes: number): boolean =>
  contentLength !== undefined && /^\d+$/.test(contentLength) && Number(contentLength) > bytes
